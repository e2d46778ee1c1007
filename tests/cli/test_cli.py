"""The command line: one JSON object on stdout, errors on stderr with exit code 2, help without jax."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from unmixnet.examples import example


def _run(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "unmixnet", *arguments], cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(example("enose").replace("duration_s = 180.0", "duration_s = 5.0"))
    return path


def test_help_answers_without_importing_jax_or_pandas(tmp_path):
    code = (
        "import sys, unmixnet.cli; print([m for m in ('jax', 'pandas', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert out.stdout.strip() == "[]", out.stdout + out.stderr


def test_simulate_prints_one_json_object_and_writes_all_three_files(scene, tmp_path):
    done = _run(
        "simulate", str(scene), "-o", "o.parquet", "--plot", "o.png", "--final", "s.npz", "--json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "ok" and told["steps"] >= told["rows"] == 500 and told["rejected_steps"] >= 0
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("o.parquet", "o.png", "s.npz"))


def test_a_bad_file_is_one_line_on_stderr_and_exit_code_two(scene, tmp_path):
    scene.write_text(scene.read_text().replace("amount_mol", "amount"))
    done = _run("simulate", str(scene), "-o", "o.parquet", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "source.amount: unknown key. Did you mean 'amount_mol'" in done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- the edge


def test_the_version_is_printed(tmp_path):
    import unmixnet

    done = _run("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"unmixnet {unmixnet.__version__}\n")


def test_a_figure_of_an_unknown_format_is_refused_before_anything_is_computed(scene, tmp_path):
    done = _run("simulate", str(scene), "-o", "o.parquet", "--plot", "o[/b].bmp", cwd=tmp_path)
    assert done.returncode == 2 and "o[/b].bmp" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "o.parquet").exists()


def test_a_place_that_cannot_be_written_is_one_line_and_exit_code_two(scene, tmp_path):
    (tmp_path / "file").touch()
    done = _run("simulate", str(scene), "-o", "file/o.parquet", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("unmixnet: file") and done.stderr.count("\n") == 1


def _shell(line: str, cwd) -> subprocess.CompletedProcess:
    program = f"{shlex.quote(sys.executable)} -m unmixnet"
    return subprocess.run(["bash", "-c", line.format(program)], cwd=cwd, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{} data list --json | true; exit ${{PIPESTATUS[0]}}", 1),
        ("{} data list | true; exit ${{PIPESTATUS[0]}}", 1),
        ("{} data list --json >&-", 0),
        ("{} data list --json 2>&-", 0),
    ],
)
def test_a_closed_pipe_ends_a_command_without_a_word(line, code, tmp_path):
    done = _shell(line, tmp_path)
    assert done.stderr == "" and done.returncode == code


def test_a_full_disk_is_told_in_a_sentence(tmp_path):
    done = _shell("{} data list --json >/dev/full", tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("unmixnet: No space left") and done.stderr.count("\n") == 1


_INTERRUPTED_COMPILING = """
import sys, threading, time
import jax, jax.numpy as jnp
import unmixnet.cli, unmixnet.simulation.simulate

def long(x):
    for _ in range(2000):
        x = jnp.sin(x) @ x
    return x

def interrupted(*_, **__):
    program = jax.jit(long).lower(jnp.eye(3))
    threading.Thread(target=program.compile, daemon=True).start()
    time.sleep(0.2)
    raise KeyboardInterrupt

unmixnet.simulation.simulate.simulate = interrupted
sys.argv = ["unmixnet", "simulate", "scene.toml", "-o", "o.parquet"]
unmixnet.cli.main()
"""


def test_ctrl_c_while_xla_compiles_ends_a_command_without_a_word(tmp_path):
    (tmp_path / "scene.toml").write_text(example("enose"))
    environment = os.environ | {"UNMIXNET_NO_CACHE": "1", "JAX_ENABLE_COMPILATION_CACHE": "0"}
    command = [sys.executable, "-c", _INTERRUPTED_COMPILING]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

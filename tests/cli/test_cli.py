"""The command line: one JSON object on stdout, errors on stderr with exit code 2, help without jax."""

import json
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
    assert json.loads(done.stdout)["status"] == "ok"
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("o.parquet", "o.png", "s.npz"))


def test_a_bad_file_is_one_line_on_stderr_and_exit_code_two(scene, tmp_path):
    scene.write_text(scene.read_text().replace("amount_mol", "amount"))
    done = _run("simulate", str(scene), "-o", "o.parquet", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "source.amount: unknown key. Did you mean 'amount_mol'" in done.stderr
    assert "Traceback" not in done.stderr

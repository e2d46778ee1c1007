"""`unmixnet check` and `unmixnet data` as a user meets them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = "".join(f"{100 * i},{300 + i * 7 % 13},{400 + i % 5}\n" for i in range(40))
SOUND = "timestamp_ms,NO2 [counts],CO [counts]\n" + ROWS


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unmixnet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    texts = {
        "sound": SOUND,
        "warned": SOUND + "4000,3",
        "noted": SOUND.replace("NO2", "no2"),
        "refused": SOUND + "4000,3\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return {name: str(tmp_path / f"{name}.csv") for name in texts}


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        (["sound"], [], 0),
        (["warned"], [], 0),
        (["warned"], ["--strict"], 2),
        (["noted"], ["--strict"], 0),
        (["refused"], [], 2),
        (["sound", "refused"], [], 2),
        (["sound", "warned"], ["--strict"], 2),
    ],
)
def test_the_exit_code_says_refused_or_with_strict_warned(files, names, options, code):
    assert run("check", *(files[name] for name in names), *options).returncode == code


def test_json_is_exactly_one_object_on_stdout(files):
    done = run("check", *files.values(), "--json")
    answer = json.loads(done.stdout)
    assert answer["summary"]["files"] == 4 and answer["summary"]["refused"] == 1
    refusal = next(file for file in answer["files"] if file["refusal"])["refusal"]
    assert (refusal["code"], refusal["line"]) == ("ragged-row", 42)
    assert refusal["seen"] and refusal["expected"] and refusal["remedy"]
    assert answer["exit_code"] == done.returncode == 2


def test_a_refusal_does_not_keep_the_other_files_from_being_read(files):
    done = run("check", files["refused"], files["sound"])
    assert "2 files: 1 read" in done.stdout and "line 42" in done.stdout


def test_a_folder_is_looked_through(files, tmp_path: Path):
    assert "4 files: 3 read" in run("check", str(tmp_path)).stdout


def test_many_files_are_summed_up_by_code(files, tmp_path: Path):
    for i in range(8):
        (tmp_path / f"more{i}.csv").write_text(SOUND + "4000,3")
    shown = run("check", str(tmp_path)).stdout
    assert "cut-line in 9 files" in shown and "ragged-row" in shown


def test_a_file_that_is_not_there_is_a_refusal_not_a_traceback(tmp_path: Path):
    done = run("check", str(tmp_path / "none.csv"))
    assert done.returncode == 2 and "no-file" in done.stdout and "Traceback" not in done.stderr


def test_an_unknown_format_lists_the_known_ones(files):
    done = run("check", files["sound"], "--format", "excel")
    assert done.returncode == 2 and "plain-csv" in done.stderr


def test_an_unknown_data_set_is_one_line_on_stderr(tmp_path: Path):
    done = run("data", "fetch", "smelnet", "--to", str(tmp_path))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "smellnet-mixture" in done.stderr


def test_data_list_says_what_is_here(tmp_path: Path):
    answer = json.loads(run("data", "list", "--data", str(tmp_path), "--json").stdout)
    assert answer["datasets"]["smellnet-base"] is None


def test_help_answers_without_importing_anything_heavy():
    script = (
        "import sys; sys.argv = ['unmixnet', '--help']\n"
        "from unmixnet.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'jax', 'pandas', 'sklearn', 'pyarrow', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "HEAVY []" in done.stdout, done.stdout + done.stderr

"""Every command in README and docs exists, and runs in a folder that has the files that it names.

Commands in code blocks are there to be run, and are; commands inside sentences are parsed. What cannot run here (a
board, somebody's cluster, hours of training) names the test that runs it in its place. Only `make soak` runs them all.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from bundle import tiny
from live.linked import linked
from unmixnet.bundle import find_bundle
from unmixnet.cli import app
from unmixnet.examples import example_recording

ROOT = Path(__file__).parents[1]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "firmware/README.md")), *ROOT.glob("docs/**/*.md")]
ELSEWHERE = {
    "unmixnet bench": "tests/test_bench.py",
    "unmixnet data fetch": "tests/data/test_fetch.py",
    "unmixnet live --mqtt": "tests/live/test_mqtt.py",
    "unmixnet live --serial": "tests/live/test_serial.py",
    "unmixnet reproduce": "tests/reproduce/test_run.py",
    "unmixnet unmix-archive IN/ OUT/ --model smellnet-mixture --ray 10.0.0.1:6379": "tests/scale/test_on_ray.py",
    "python numpy_reader.py": "tests/export/test_onnx.py",
    "pip": "tests/test_release.py",
    "pipx": "tests/test_release.py",
    "make": "Makefile",
}
QUICK = ("unmixnet check", "unmixnet audit", "unmixnet data list", "unmixnet devices")
STANDS_FOR = {"FILE…": "FILE.csv", "DATASET": "simulated", "SPLIT": "later", "FOLDER": "my_recordings"}
"""Placeholders whose name says too little to be a file."""


# ---------------------------------------------------------------- what the pages say


def in_blocks(page: str) -> list[str]:
    """Commands that stand in code blocks, without comments."""
    text = re.sub(r"```(?:python|toml|csv)\n.*?```", "", page, flags=re.DOTALL)
    lines = re.findall(r"^(?:\$ |    )((?:unmixnet|python|make|pip|pipx) .+)$", text, re.MULTILINE)
    fenced = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    lines += [line for block in fenced for line in block.splitlines() if line.startswith("unmixnet ")]
    return [plain(line) for line in lines]


def in_sentences(page: str) -> list[str]:
    """Commands between single backquotes."""
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    return [plain(" ".join(found.split())) for found in re.findall(r"`(unmixnet [^`]+)`", text)]


def plain(line: str) -> str:
    """A command without its comment, and with what may be left out."""
    return re.sub(r" \[(--[^\]]+)\]", r" \1", re.sub(r"\s+#.*$", "", line)).strip()


def all_commands(reader=in_blocks) -> list[str]:
    return sorted({command for page in PAGES for command in reader(page.read_text(encoding="utf-8"))})


def elsewhere(command: str) -> str | None:
    return next((place for start, place in ELSEWHERE.items() if f"{command} ".startswith(f"{start} ")), None)


RUN = [command for command in all_commands() if not elsewhere(command)]


# ---------------------------------------------------------------- they exist


def unknown(command: str) -> str:
    """What the program does not know about a command; nothing if it would take it."""
    words = [STANDS_FOR.get(word, word) for word in shlex.split(command)[1:] if word != "…"]
    part = get_command(app)
    while words and hasattr(part, "commands"):
        if words[0] in ("COMMAND", "--help"):
            return ""
        if words[0] not in part.commands:  # pyright: ignore
            return f"there is no command {words[0]}"
        part = part.commands[words.pop(0)]  # pyright: ignore
    if not words:
        return ""
    try:
        part.make_context(command, words)
    except Exception as error:
        return str(getattr(error, "message", error))
    return ""


def test_pages_have_commands():
    assert len(all_commands()) > 30 and len(all_commands(in_sentences)) > 15


@pytest.mark.parametrize("command", [one for one in all_commands() if one.startswith("unmixnet ")])
def test_a_command_of_a_block_is_one_that_the_program_takes(command):
    assert unknown(command) == ""


@pytest.mark.parametrize("command", all_commands(in_sentences))
def test_a_command_of_a_sentence_exists(command):
    assert unknown(command) == "" or "Missing" in unknown(command), "a sentence need not say everything"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("unmixnet unmixx FILE.csv", "no command"),
        ("unmixnet unmix FILE.csv --reports out", "--reports"),
        ("unmixnet live --port many", "integer"),
    ],
)
def test_twin_a_misspelt_command_is_noticed(command, said):
    assert said in unknown(command)


def test_what_runs_elsewhere_is_there_and_still_documented():
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).exists()] == []
    told = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [start for start in ELSEWHERE if start not in told] == []


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_make_target_of_the_pages_exists():
    told = {target for page in PAGES for target in re.findall(r"`make ([a-z]+)`|^    make ([a-z]+)", page.read_text())}
    assert {name for pair in told for name in pair if name} <= targets()


# ---------------------------------------------------------------- they run


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Iterator[Path]:
    """A folder with a file under every name that the pages use."""
    folder = tmp_path_factory.mktemp("desk")
    for name in ("my_recordings", "my_folder"):
        (folder / name).mkdir()
        tiny.write_folder(folder / name, sessions=3)
        (folder / name / "tiny.toml").unlink()
    (folder / "later").mkdir()
    tiny.write_folder(folder / "later", sessions=1, first=10)
    config = tiny.CONFIG.format(epochs=2).replace('folder = "."', 'folder = "my_recordings"')
    (folder / "CONFIG.toml").write_text(config)
    (folder / "my_run.csv").write_text((folder / "my_recordings" / "s0_0.csv").read_text())
    recording = example_recording().read_text()
    for name in ("a.csv", "recording.csv"):
        (folder / name).write_text(recording)
    (folder / "FILE.csv").write_text(_for_every_model(recording))
    (folder / "air.csv").write_text(_air(recording))
    (folder / "IN").mkdir()
    (folder / "IN" / "one.csv").write_text(_for_every_model(recording))
    (folder / "jar.toml").write_text((ROOT / "examples" / "jar.toml").read_text())
    (folder / "MODEL").symlink_to(find_bundle("simulated"))
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def _for_every_model(recording: str) -> str:
    """The four sensors once more, under the names that the other models know."""
    head, *rows = recording.strip().splitlines()
    more = ",".join(f"{name} [counts]" for name in ("NO2", "C2H5OH", "VOC", "CO"))
    return "\n".join([f"{head},{more}", *(f"{row},{row.split(',', 1)[1]}" for row in rows)]) + "\n"


def _air(recording: str) -> str:
    """The first row, held: its time goes on, its readings stay."""
    head, *rows = recording.strip().splitlines()
    times = [row.split(",", 1)[0] for row in rows]
    air = rows[0].split(",", 1)[1]
    return "\n".join([head, *(f"{time},{air}" for time in times)]) + "\n"


def words_of(command: str) -> list[str]:
    return [STANDS_FOR.get(word, word) for word in shlex.split(command)[1:]]


@pytest.mark.parametrize("command", [one for one in RUN if one.startswith(QUICK)])
def test_a_quick_command_runs(desk, command):
    done = CliRunner().invoke(app, words_of(command))
    # a warning is what --strict is there to report
    assert done.exit_code == 0 or ("--strict" in command and done.exit_code == 2), done.output


def in_order(commands: list[str]) -> list[str]:
    """Models before those who use them, calibrations before theirs."""
    first = ("unmixnet train", "unmixnet calibrate-session", "unmixnet export")
    return sorted(commands, key=lambda one: (not one.startswith(first), "--resume" in one, one))


@pytest.mark.soak
@pytest.mark.parametrize("command", in_order([one for one in RUN if not one.startswith((*QUICK, "unmixnet live"))]))
def test_a_long_command_runs(desk, command, measured, request):
    if "smellnet-mixture --figure" in command:
        request.getfixturevalue("data_folder")
    done = subprocess.run([sys.executable, "-m", "unmixnet", *words_of(command)], capture_output=True, text=True)
    measured(f"exit code of {command}", done.returncode)
    assert done.returncode == 0, done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("command", [one for one in RUN if one.startswith("unmixnet live")])
def test_a_live_command_prints_its_link_and_stops(desk, command):
    words = [word for word in words_of(command) if word != "--browser"]
    with linked([sys.executable, "-m", "unmixnet", *words, "--port", "0"]) as link:
        assert link.startswith("http://127.0.0.1:")


# ---------------------------------------------------------------- Python in the pages, and scripts


def python_blocks() -> list[tuple[str, str]]:
    pages = [ROOT / "docs" / "recordings.md", *sorted((ROOT / "docs").glob("tutorials/*.md"))]
    pages += sorted((ROOT / "docs").glob("how-to/*.md"))
    found = [(page, re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)) for page in pages]
    return [(page.name, block) for page, blocks in found for block in blocks if "--8<--" not in block]


@pytest.mark.parametrize(("page", "block"), python_blocks(), ids=lambda value: value[:20])
def test_python_of_the_pages_runs(desk, page, block):
    made: dict = {}
    exec(compile(block, page, "exec"), made)
    assert set(made) > {"__builtins__"}


def test_the_script_of_the_solver_finds_what_was_released(tmp_path):
    script = ROOT / "examples" / "transport_solver.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    numbers = re.findall(r"\[([^\]]+)\]", done.stdout.splitlines()[-1])
    released, found = (np.array([float(one) for one in text.split()]) for text in numbers)
    np.testing.assert_allclose(found, released, rtol=1e-6)


def test_every_script_of_the_examples_is_run_here():
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert scripts and all(name in Path(__file__).read_text() for name in scripts)

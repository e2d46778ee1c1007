"""Commands for a checkout run in a copy of it, and those that install do so from the wheel; only in `make soak`.

The copy shares the virtual environment. What would call itself (`make test`, `make soak`) runs one test of its kind.
"""

import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.pages.page_text import ROOT
from tests.pages.plans import CHECKOUT, INSTALL, words_of
from tests.pages.workspace import commands
from tests.released import CLEAN, wheel  # noqa: F401

ONE_TEST = {"make test": "the_version_is_the_same", "make soak": "two_thousand_mixtures_sum_to_zero"}
STAMPS = (".core", ".docs", ".tests", ".checks")
"""What the Makefile leaves in the environment once a part of it is installed; the others come after the core."""
ASKS = ("make vulnerabilities",)
"""Needs a service of the network, and has a test of its own."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """The files that git knows, with their times, beside a link to the environment."""
    if not all((ROOT / ".venv" / name).exists() for name in (*STAMPS, "../.git")):
        pytest.skip("needs a checkout that `make soak` has set up")
    folder = tmp_path_factory.mktemp("checkout")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(lambda name: (ROOT / name).is_file(), tracked.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    vendor = "src/unmixnet/live/page/vendor"
    if (ROOT / vendor).is_dir():
        shutil.copytree(ROOT / vendor, folder / vendor, dirs_exist_ok=True)
    # its own stamps, newer than every file: nobody sets the shared environment up anew
    (folder / ".venv").mkdir()
    for part in (ROOT / ".venv").iterdir():
        if part.name not in STAMPS:
            (folder / ".venv" / part.name).symlink_to(part)
    for name in STAMPS:
        (folder / ".venv" / name).touch()
    return folder


def run(command: str, folder: Path) -> subprocess.CompletedProcess:
    words = words_of(command)
    programs = {"python": [sys.executable], "unmixnet": [sys.executable, "-m", "unmixnet"]}
    words[:1] = programs.get(words[0], words[:1])
    only = {"PYTEST_ADDOPTS": f"-k {ONE_TEST[command]}"} if command in ONE_TEST else {}
    return subprocess.run(words, cwd=folder, env=CLEAN | only, capture_output=True, text=True)


@pytest.mark.soak
@pytest.mark.parametrize("command", [command for command in commands(CHECKOUT) if command not in ASKS])
def test_a_command_for_a_checkout_runs(copy, command):
    done = run(command, copy)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert command not in ONE_TEST or " passed" in done.stdout, "a test was really run"


@pytest.mark.soak
@pytest.mark.parametrize("command", ASKS)
def test_a_search_for_advisories_is_clean_or_says_that_nobody_answered(copy, command, measured):
    done = run(command, copy)
    output = (done.stdout + done.stderr)[-3000:]
    clean = done.returncode == 0 and "No known vulnerabilities found" in output
    silent = done.returncode != 0 and re.search(r"not found on PyPI|ConnectionError|could not|404|resolve", output)
    measured("advisories", "none" if clean else "nobody answered" if silent else "found")
    assert clean or silent, output


# ---------------------------------------------------------------- installations


def extras(command: str) -> set[str]:
    """`pip install 'unmixnet[live]'` → live."""
    named = re.search(r"\[([a-z,]+)\]", shlex.split(command)[2])
    return set(named[1].split(",")) if named else set()


def provided(wheel: Path) -> set[str]:  # noqa: F811
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return set(re.findall(r"^Provides-Extra: (\S+)$", opened.read(name).decode(), re.MULTILINE))


@pytest.mark.soak
@pytest.mark.parametrize("command", commands(INSTALL))
def test_what_a_command_installs_can_be_had(command, wheel):  # noqa: F811
    """Resolved, not installed: tests/test_release.py installs one, by pipx where there is one, and uses it."""
    assert extras(command) <= provided(wheel), "pip would say nothing of an extra that is not there"
    words = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    wanted = f"{wheel}[{','.join(sorted(extras(command)))}]" if extras(command) else str(wheel)
    done = subprocess.run([*words, "-c", str(ROOT / "constraints.txt"), wanted], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert '"unmixnet"' in done.stdout


@pytest.mark.soak
def test_twin_an_extra_that_is_not_there_is_noticed(wheel):  # noqa: F811
    assert not extras("pip install 'unmixnet[dreams]'") <= provided(wheel)

"""kill -9 at any instant loses nothing that was acknowledged, and readers and writers may meet."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from unmixnet.files import ArtefactError, read_artefact, recover

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and fork")


@pytest.fixture
def quick_folder(tmp_path: Path):
    """A folder in memory where there is one: death at a chosen call needs no disk, and thousands would wait for it."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="unmixnet-", dir=memory) as folder:
        yield Path(folder)


def start(module: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-m", f"tests.files.{module}", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def output(process: subprocess.Popen) -> str:
    text, _ = process.communicate(timeout=900)
    assert process.returncode == 0
    return text


def step(folder: Path) -> int:
    artefact = read_artefact(folder)
    assert artefact.documents["card.md"] and int(artefact.tensors["adam.count"]) == int(artefact.tensors["step"])
    return int(artefact.tensors["step"])


# ---------------------------------------------------------------- killed at random times


def killed(folder: Path, first: int, rng: np.random.Generator) -> int:
    """Kill a writer at a random time after its first acknowledgement; the last number that it acknowledged."""
    writer = start("writer", folder, first)
    assert writer.stdout is not None
    seen = writer.stdout.readline()
    time.sleep(rng.uniform(0, 0.1))
    os.kill(writer.pid, signal.SIGKILL)
    rest, _ = writer.communicate()
    assert writer.returncode == -signal.SIGKILL
    return max(int(line) for line in (seen + rest).splitlines(keepends=True) if line.endswith("\n"))


def lost(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """How many of the kills lost something acknowledged, and how many left a replacement half done."""
    rng, first, losses, interrupted = np.random.default_rng(seed), 0, 0, 0
    for kill in range(kills):
        acknowledged = killed(folder, first, rng)
        interrupted += len([*folder.parent.iterdir()]) > 1
        if kill % 2:
            recover(folder)
        try:
            found = step(folder)
        except ArtefactError:
            found = -1
        losses += not acknowledged <= found <= acknowledged + 1
        first = max(found, acknowledged) + 1
    return losses, interrupted


def test_five_kills_lose_nothing(tmp_path: Path):
    losses, _ = lost(tmp_path / "model", 5, seed=0)
    assert losses == 0


@pytest.mark.soak
def test_fifty_kills_lose_nothing(tmp_path: Path, measured):
    losses, interrupted = lost(tmp_path / "model", 50, seed=1)
    measured("kills", 50)
    measured("kills in the middle of a replacement", interrupted)
    measured("kills that lost something", losses)
    assert losses == 0 and interrupted > 5


# ---------------------------------------------------------------- killed at every call to the system


def deaths(folder: Path, depth: int, *defect: str) -> dict:
    return json.loads(output(start("crash_points", folder, depth, *defect)))


def test_death_before_any_call_to_the_system_loses_nothing(quick_folder: Path):
    found = deaths(quick_folder, 1)
    assert found["deaths"] > 40
    assert found["unreadable"] == [] and found["unclean"] == []


@pytest.mark.parametrize("defect", ["in_place", "remove_first"])
def test_twin_a_careless_writer_loses_something(defect: str, quick_folder: Path):
    assert deaths(quick_folder, 1, defect)["unreadable"]


def test_twin_a_writer_that_does_not_settle_is_noticed(quick_folder: Path):
    assert deaths(quick_folder, 1, "leave_debris")["unclean"]


@pytest.mark.soak
def test_two_deaths_one_after_the_other_lose_nothing(quick_folder: Path, measured):
    found = deaths(quick_folder, 2)
    measured("deaths before a call to the system", found["deaths"])
    measured("deaths that lost something", len(found["unreadable"]))
    assert found["deaths"] > 2000
    assert found["unreadable"] == [] and found["unclean"] == []


# ---------------------------------------------------------------- readers and writers at once


def test_a_reader_never_sees_a_mixture_of_old_and_new(quick_folder: Path):
    writer = start("writer", quick_folder / "model", 0, 150)
    assert writer.stdout is not None
    writer.stdout.readline()
    steps = []
    while writer.poll() is None:
        steps.append(step(quick_folder / "model"))
    writer.communicate()
    assert writer.returncode == 0
    assert steps == sorted(steps) and len(set(steps)) > 5


def test_two_writers_take_turns(quick_folder: Path):
    writers = [start("writer", quick_folder / "model", first, first + 40) for first in (0, 1000)]
    for writer in writers:
        assert len(output(writer).splitlines()) == 41
    assert step(quick_folder / "model") in (40, 1040)
    assert [path.name for path in quick_folder.iterdir()] == ["model"]

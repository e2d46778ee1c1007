"""A sweep survives a killed process, a full disk and a clock that jumps: nothing is lost, nothing is done twice."""

import errno
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from studies.harness.progress import RemainingTime, Reporter
from studies.harness.results import collect
from studies.harness.run import run_jobs, sweep
from studies.harness.work import Job, Work
from tests.inference.archive.workers import study
from unmixnet.errors import UnmixError
from unmixnet.inference.archive.workers import Local


@pytest.fixture
def jobs(tmp_path) -> list[Job]:
    """Two peers, which train nothing."""
    return [job for job in study.jobs(tmp_path) if job.variant.name in ("mean", "1-NN")]


def rows(jobs: list[Job], folder: Path) -> list[dict]:
    return [asdict(row) for row in collect(jobs, Work(folder)).rows]


def full_after(writes: int):
    """A disk with room for so many files."""
    fsync, count = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count > writes:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    return full


@pytest.mark.parametrize("spread", [False, True], ids=["one process", "a task for each model"])
def test_a_full_disk_is_told_nothing_is_left_half_and_the_sweep_goes_on(jobs, tmp_path, monkeypatch, spread):
    def sweeping(folder: Path) -> list:
        if not spread:
            return run_jobs(jobs, Work(folder), None, study.OPTIONS)
        todo = [job for job in jobs if Work(folder).read(job) is None]
        return sweep(todo, Work(folder), None, study.OPTIONS, Reporter(), RemainingTime(), Local(1))

    assert sweeping(tmp_path / "whole") == []
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_after(2))  # a file and its folder
        with pytest.raises(UnmixError, match=r"the disk is full. Make room and run the same command again: what is"):
            sweeping(tmp_path / "out")
    kept = [job for job in jobs if Work(tmp_path / "out").read(job) is not None]
    assert len(kept) == 1 and not list((tmp_path / "out").rglob(".*")), "one is there, and no half one"
    dates = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.npz")}
    assert sweeping(tmp_path / "out") == []
    assert rows(jobs, tmp_path / "out") == rows(jobs, tmp_path / "whole")
    assert {path: path.stat().st_mtime_ns for path in dates} == dates, "what was finished is not made again"


@pytest.mark.soak
def test_a_sweep_on_two_local_processes_with_one_killed_has_the_same_metrics_to_the_bit(tmp_path, measured):
    jobs = study.jobs(tmp_path)
    assert run_jobs(jobs, Work(tmp_path / "whole"), None, study.OPTIONS) == []
    (tmp_path / study.KILL).touch()
    assert sweep(jobs, Work(tmp_path / "out"), None, study.OPTIONS, Reporter(), RemainingTime(), Local(2)) == []
    assert not (tmp_path / study.KILL).exists()
    equal = rows(jobs, tmp_path / "out") == rows(jobs, tmp_path / "whole")
    measured("metrics of a sweep on two processes, one killed, equal to the bit", equal)
    assert equal


def test_twin_a_half_written_result_would_be_noticed(jobs, tmp_path):
    run_jobs(jobs, Work(tmp_path / "out"), None, study.OPTIONS)
    path = tmp_path / "out" / jobs[0].place
    path.write_bytes(path.read_bytes()[:100])
    assert Work(tmp_path / "out").read(jobs[0]) is None


def test_a_folder_that_may_not_be_written_is_told(jobs, tmp_path):
    (tmp_path / "out").write_text("a file where the folder should be")
    with pytest.raises(UnmixError, match=r"a result cannot be written .* Check that the folder is there"):
        run_jobs(jobs, Work(tmp_path / "out"), None, study.OPTIONS)


def test_a_clock_that_jumps_during_a_sweep_changes_nothing(jobs, tmp_path, monkeypatch):
    run_jobs(jobs, Work(tmp_path / "whole"), None, study.OPTIONS)
    ticks = iter(range(10**6))
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 1e9 * (-1) ** next(ticks))
        run_jobs(jobs[:1], Work(tmp_path / "out"), None, study.OPTIONS)
    os.utime(tmp_path / "out" / jobs[0].place, (0, 0))
    before = (tmp_path / "out" / jobs[0].place).stat().st_mtime_ns
    run_jobs(jobs, Work(tmp_path / "out"), None, replace(study.OPTIONS))
    assert (tmp_path / "out" / jobs[0].place).stat().st_mtime_ns == before, "its date does not count, its content does"
    for job in jobs:
        for protocol, guess in Work(tmp_path / "whole").read(job).guesses.items():
            np.testing.assert_array_equal(Work(tmp_path / "out").read(job).guesses[protocol].values, guess.values)

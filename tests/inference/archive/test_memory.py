"""Memory does not grow with the archive; a run that is killed for good leaves nobody behind and goes on."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.inference.archive.run import unmix_archive

from .archives import answers, rows_of, write_csv, write_parquet

ONE = Path(__file__).with_name("run_process.py")


def archive(folder: Path, times: int, *, rows: int = 800) -> Path:
    """A long recording, several files of the same length, and short texts: each so many times."""
    readings = np.resize(rows_of(1, 60), (times * rows, 3)) + np.arange(times * rows)[:, None] % 13
    write_parquet(folder / "long.parquet", readings, groups=4 * times)
    for i in range(times):
        write_parquet(folder / f"hour{i}.parquet", readings[:rows] + i, groups=4)
    write_csv(folder, 5 * times)
    return folder


def peak(out: Path, source: Path, bundle) -> int:
    tracemalloc.start()
    unmix_archive(source, out, bundle, Path("bundle"))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_ten_times_the_archive_needs_no_more_memory(tmp_path, quick):
    small, large = archive(tmp_path / "small", 1), archive(tmp_path / "large", 10)
    peak(tmp_path / "first", small, quick)
    one, ten = peak(tmp_path / "one", small, quick), peak(tmp_path / "ten", large, quick)
    assert ten < 1.3 * one + 3e5


def test_twin_rows_that_are_kept_would_be_noticed(tmp_path, quick, monkeypatch):
    from unmixnet.inference.archive import windows as archive_windows

    monkeypatch.setattr(archive_windows._Stretch, "drop", lambda self, rows: None)
    small, large = archive(tmp_path / "small", 1), archive(tmp_path / "large", 10, rows=4000)
    peak(tmp_path / "first", small, quick)
    one, ten = peak(tmp_path / "one", small, quick), peak(tmp_path / "ten", large, quick)
    assert ten > 1.3 * one + 3e5


# ---------------------------------------------------------------- long counts


def started(source: Path, out: Path, workers: int = 1) -> subprocess.Popen:
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(tiny.programs()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
    }
    command = [sys.executable, str(ONE), str(source), str(out), str(tiny.folder() / "bundle"), str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.soak
def test_a_hundred_times_the_archive_needs_no_more_memory(tmp_path, bundle, measured):
    peaks = []
    for times in (1, 10, 100):
        process = started(archive(tmp_path / f"in{times}", times), tmp_path / f"out{times}")
        told = json.loads(process.communicate()[0])
        measured(f"peak memory [MB] with {told['windows']} windows", told["peak_MB"])
        peaks.append(told["peak_MB"])
    assert peaks[2] < peaks[0] + 60 and peaks[2] < peaks[1] + 40


@pytest.mark.soak
def test_runs_that_are_killed_leave_nobody_behind_and_the_last_one_finishes(tmp_path, bundle, measured):
    source, out = archive(tmp_path / "in", 100), tmp_path / "out"
    started(source, tmp_path / "whole").communicate()
    rng, grown = np.random.default_rng(0), []
    for _ in range(4):
        process = started(source, out, workers=2)
        before = _parts(out)
        while process.poll() is None and _parts(out) <= before:
            time.sleep(0.02)
        time.sleep(float(rng.uniform(0, 0.5)))
        workers = _children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        grown.append(_parts(out))
        end = time.monotonic() + 20
        while time.monotonic() < end and any(Path(f"/proc/{one}").exists() for one in workers):
            time.sleep(0.2)
        assert workers and not [one for one in workers if Path(f"/proc/{one}").exists()]
    last = json.loads(started(source, out).communicate()[0])
    measured("parts after each of the runs that were killed, and windows that the last one had to answer",
             [grown, last["windows"]])  # fmt: skip
    assert 0 < grown[0] < grown[-1] < _parts(tmp_path / "whole") and last["windows"] > 0
    for mine, other in zip(answers(out), answers(tmp_path / "whole"), strict=True):
        for name, value in other.items():
            assert mine[name] == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value)


def _parts(out: Path) -> int:
    return len(list((out / "windows").glob("part-*")))


def _children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(one) for one in found.read_text().split()] if found.exists() else []

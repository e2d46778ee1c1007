"""Exactly once: killed at any point and run again, an archive gives the rows of a run that was never killed."""

import errno
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.archive import run as running
from unmixnet.inference.archive.manifest import ArchiveManifest
from unmixnet.inference.archive.run import unmix_archive

from .archives import answers, errors, rows_of, write_csv, write_parquet


@pytest.fixture
def archive(tmp_path, monkeypatch) -> Path:
    """Eleven recordings in tasks of three, with damaged ones in the middle."""
    monkeypatch.setattr("unmixnet.inference.archive.inputs._UNIT_FILES", 3)
    home = tmp_path / "in"
    write_csv(home, 10)
    write_parquet(home / "long.parquet", rows_of(1, 60))
    (home / "even" / "r0003.csv").write_text("time_s,NO2 [counts],VOC [counts],CO [counts]\n0,1,2,3\n0.2,4,5\n")
    (home / "odd" / "r0004.csv").write_bytes(b"\x00" * 100)
    return home


def answer(archive: Path, out: Path, bundle, **more):
    return unmix_archive(archive, out, bundle, Path("bundle"), **more)


class Killed(BaseException):
    """As good as a signal: nothing that tidies up after errors hears it."""


def test_every_recording_is_answered_and_damaged_ones_are_told(archive, tmp_path, quick):
    report = answer(archive, tmp_path / "out", quick)
    rows = answers(tmp_path / "out")
    counted = {place: sum(row["file"] == place for row in rows) for place in {row["file"] for row in rows}}
    assert counted == {f"{'odd' if i % 2 else 'even'}/r{i:04d}.csv": 3 for i in range(10)} | {"long.parquet": 11}
    told = {row["file"]: row for row in errors(tmp_path / "out")}
    assert set(told) == {"even/r0003.csv", "odd/r0004.csv"}
    assert told["even/r0003.csv"]["line"] == 3 and "ragged-row" in told["even/r0003.csv"]["reason"]
    assert (report.fresh, report.fresh_windows, report.totals.refused) == (13, 41, 2)


def test_a_second_run_answers_nothing_again(archive, tmp_path, quick):
    out = tmp_path / "out"
    answer(archive, out, quick)
    before = {path.name: path.stat().st_mtime_ns for path in (out / "windows").iterdir()}
    report = answer(archive, out, quick)
    assert (report.fresh, report.known) == (0, 13)
    assert {path.name: path.stat().st_mtime_ns for path in (out / "windows").iterdir()} == before


POINTS = ("before the name", "after the name", "after the manifest")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("after", [0, 2])
def test_a_run_killed_at_any_point_goes_on_and_nothing_is_lost_or_twice(
    archive, tmp_path, quick, monkeypatch, point, after
):
    answer(archive, tmp_path / "whole", quick)
    count = 0
    replace, add = os.replace, ArchiveManifest.add

    def kill_at(now: str) -> None:
        nonlocal count
        count += now == point
        if now == point and count > after:
            raise Killed

    def named(*places) -> None:
        kill_at("before the name")
        replace(*places)
        kill_at("after the name")

    def added(self, *what) -> None:
        add(self, *what)
        kill_at("after the manifest")

    with monkeypatch.context() as patch:
        patch.setattr(running, "_write_errors", lambda manifest: None)
        patch.setattr(running.os, "replace", named)
        patch.setattr(ArchiveManifest, "add", added)
        with pytest.raises(Killed):
            answer(archive, tmp_path / "out", quick)
    left = {path.name for path in (tmp_path / "out" / "windows").iterdir()}
    answer(archive, tmp_path / "out", quick)
    assert answers(tmp_path / "out") == answers(tmp_path / "whole")
    assert errors(tmp_path / "out") == errors(tmp_path / "whole")
    assert left, "something was written before"


def test_twin_parts_that_a_killed_run_left_would_be_counted_twice(archive, tmp_path, quick, monkeypatch):
    answer(archive, tmp_path / "out", quick)
    part = next(iter((tmp_path / "out" / "windows").glob("part-*")))
    (part.parent / "part-left-behind.parquet").write_bytes(part.read_bytes())
    assert len(answers(tmp_path / "out")) > 41
    answer(archive, tmp_path / "out", quick)
    assert len(answers(tmp_path / "out")) == 41


def test_a_changed_recording_is_answered_anew_and_its_neighbours_stay(archive, tmp_path, quick):
    out = tmp_path / "out"
    answer(archive, out, quick)
    before = answers(out)
    write_csv(archive, 1, first=4, seconds=60)
    report = answer(archive, out, quick)
    after = answers(out)
    assert report.fresh == 1 and sum(row["file"] == "even/r0004.csv" for row in after) == 11
    others = [row for row in after if row["file"] != "even/r0004.csv"]
    assert others == [row for row in before if row["file"] != "even/r0004.csv"]


def test_a_mended_recording_loses_its_error(archive, tmp_path, quick):
    out = tmp_path / "out"
    answer(archive, out, quick)
    (archive / "even" / "r0003.csv").write_text((archive / "odd" / "r0003.csv").read_text())
    answer(archive, out, quick)
    assert [row["file"] for row in errors(out)] == ["odd/r0004.csv"] and len(answers(out)) == 44


def test_answers_of_a_file_that_has_left_stay_and_refusals_go(archive, tmp_path, quick):
    out = tmp_path / "out"
    answer(archive, out, quick)
    before = answers(out)
    (archive / "odd" / "r0004.csv").unlink()
    (archive / "even" / "r0002.csv").unlink()
    report = answer(archive, out, quick)
    assert answers(out) == before and [row["file"] for row in errors(out)] == ["even/r0003.csv"]
    assert report.totals.refused == 1


def test_a_part_that_was_deleted_is_made_again(archive, tmp_path, quick):
    out = tmp_path / "out"
    answer(archive, out, quick)
    before = answers(out)
    next(iter((out / "windows").glob("part-*"))).unlink()
    assert answers(out) != before
    answer(archive, out, quick)
    assert answers(out) == before


def test_a_clock_that_jumps_during_a_run_changes_nothing(archive, tmp_path, quick, monkeypatch):
    answer(archive, tmp_path / "whole", quick)
    ticks = iter(range(10**6))
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 1e9 * (-1) ** next(ticks))
        report = answer(archive, tmp_path / "out", quick)
    assert answers(tmp_path / "out") == answers(tmp_path / "whole") and report.seconds >= 0


def test_two_runs_never_write_into_one_folder(archive, tmp_path, quick):
    (tmp_path / "out").mkdir()
    manifest = ArchiveManifest.open(tmp_path / "out", quick.name, quick.digest)
    with pytest.raises(UnmixError, match="another run is writing into it"):
        answer(archive, tmp_path / "out", quick)
    manifest.close()
    assert answer(archive, tmp_path / "out", quick).fresh == 13


def test_answers_of_two_models_are_never_mixed(archive, tmp_path, quick):
    (tmp_path / "out").mkdir()
    ArchiveManifest.open(tmp_path / "out", "another", "0" * 64).close()
    with pytest.raises(ConfigError, match=r"holds answers of another.*Name another output folder"):
        answer(archive, tmp_path / "out", quick)


def test_a_baseline_without_a_solver_is_refused_before_anything_is_written(archive, tmp_path):
    from tests.inference.bundle import tiny

    with pytest.raises(ConfigError, match="without a solver"):
        answer(archive, tmp_path / "out", tiny.baseline())
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- a full disk


def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(archive, tmp_path, quick, monkeypatch):
    answer(archive, tmp_path / "whole", quick)
    fsync, count = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count > 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr("unmixnet.inference.archive.task.os.fsync", full)
        with pytest.raises(UnmixError, match=r"the disk is full. Make room and run the same command again"):
            answer(archive, tmp_path / "out", quick)
    answer(archive, tmp_path / "out", quick)
    assert answers(tmp_path / "out") == answers(tmp_path / "whole")


def test_a_disk_that_is_really_full_is_told(archive, tmp_path, quick):
    disk = tmp_path / "disk"
    disk.mkdir()
    size = ["mount", "-t", "tmpfs", "-o", "size=112k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(size, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        with pytest.raises(UnmixError, match="the disk is full"):
            for i in range(20):
                write_csv(archive, 30, first=100 + 30 * i)
                answer(archive, disk / "out", quick)
        assert all(row["file"] for row in answers(disk / "out"))
        remount = ["mount", "-o", "remount,size=4m", str(disk)]
        subprocess.run(remount, check=True)
        answer(archive, disk / "out", quick)
        answer(archive, tmp_path / "whole", quick)
        assert answers(disk / "out") == answers(tmp_path / "whole")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


# ---------------------------------------------------------------- the network itself


def test_windows_have_the_shares_that_unmix_gives_them(tmp_path, bundle):
    from tests.inference.bundle import tiny
    from unmixnet.inference.unmix import unmix
    from unmixnet.recordings.reader import read_recording

    write_csv(tmp_path / "in", 5)
    unmix_archive(tmp_path / "in", tmp_path / "out", bundle, tiny.folder() / "bundle")
    rows = answers(tmp_path / "out")
    for place in dict.fromkeys(row["file"] for row in rows):
        answer = unmix(bundle, read_recording(tmp_path / "in" / place))
        mine = [row for row in rows if row["file"] == place]
        shares = np.array([[row[f"ratio_{name}"] for name in bundle.components] for row in mine])
        np.testing.assert_allclose(shares, answer.window_ratios, atol=1e-6)
        assert {tuple(row) for row in mine} == {tuple(rows[0])}
        assert max(row["strength"] for row in mine) == pytest.approx(answer.strength, rel=1e-5)
        for row in mine:
            for name in bundle.components:
                assert 0 <= row[f"low_{name}"] <= row[f"ratio_{name}"] <= row[f"high_{name}"] <= 1
            assert 0 < row["novelty"] <= 1 and row["verdict"]

"""An archive is its files by place and content, whatever their dates."""

import os

import pytest

from unmixnet.errors import ConfigError
from unmixnet.inference.archive import inputs
from unmixnet.inference.archive.inputs import Input, inputs_of, units_of

from .archives import write_csv


def test_files_come_sorted_and_only_recordings(tmp_path):
    write_csv(tmp_path, 6)
    for name in ("notes.md", "even/.hidden.csv", "manifest.csv", "_scratch.csv"):
        (tmp_path / name).write_text("x")
    places = [one.place for one in inputs_of(tmp_path)]
    assert places == [f"even/r{i:04d}.csv" for i in (0, 2, 4)] + [f"odd/r{i:04d}.csv" for i in (1, 3, 5)]


def test_the_output_may_lie_inside_the_archive(tmp_path):
    write_csv(tmp_path, 2)
    (tmp_path / "out" / "windows").mkdir(parents=True)
    (tmp_path / "out" / "windows" / "part.parquet").write_text("x")
    assert len(list(inputs_of(tmp_path, without=tmp_path / "out"))) == 2


def test_a_clock_that_jumps_changes_nothing(tmp_path):
    write_csv(tmp_path, 3)
    before = list(inputs_of(tmp_path))
    for when, one in zip((0, 4e9, 1e9), before, strict=True):
        os.utime(one.path, (when, when))
    assert list(inputs_of(tmp_path)) == before


def test_twin_one_changed_byte_is_noticed(tmp_path):
    write_csv(tmp_path, 1)
    (before,) = inputs_of(tmp_path)
    text = (tmp_path / before.place).read_text()
    (tmp_path / before.place).write_text(text.replace("1", "2", 1))
    (after,) = inputs_of(tmp_path)
    assert after.size == before.size and after.sha256 != before.sha256


def test_tasks_hold_every_file_once_and_end_by_count_or_size(monkeypatch):
    monkeypatch.setattr(inputs, "_UNIT_FILES", 4)
    monkeypatch.setattr(inputs, "_UNIT_BYTES", 100)
    files = [Input(f"f{i}", "", f"{i}" if i != 6 else "", 60 if i > 7 else 1) for i in range(12)]
    units = [[one.place for one in unit.inputs] for unit in units_of(files)]
    assert units == [["f0", "f1", "f2", "f3"], ["f6"], ["f4", "f5", "f7", "f8"], ["f9", "f10"], ["f11"]]


def test_a_part_is_named_after_its_content(tmp_path):
    one, other = Input("a", "/x/a", "1", 3), Input("a", "/y/a", "2", 3)
    (first,), (same,), (new,) = (list(units_of([item])) for item in (one, Input("a", "/z/a", "1", 3), other))
    assert first.name == same.name != new.name


def test_no_folder_is_told(tmp_path):
    with pytest.raises(ConfigError, match="no such folder"):
        list(inputs_of(tmp_path / "none"))

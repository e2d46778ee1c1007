"""Damaged files never crash the reader: only its own errors, each in a moment."""

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmixnet.recordings.codes import Code
from unmixnet.recordings.reader import ReadError, read_recording

from .mutations import DAMAGES, mutate
from .valid_text import base, mixture, plotter, text, uci

SLOWEST_S = 0.05


def seconds_to_read(path: Path) -> float:
    """Processor time of one reading; a slow one is measured again, since the collector may have run in it."""
    shortest = np.inf
    for _ in range(4):
        start = time.process_time()
        with contextlib.suppress(ReadError):
            read_recording(path)
        shortest = min(shortest, time.process_time() - start)
        if shortest < SLOWEST_S / 2:
            break
    return shortest


@dataclass
class Tally:
    """What became of many damaged files."""

    read: int = 0
    refused: Counter = field(default_factory=Counter)
    slowest_s: float = 0.0

    def try_one(self, path: Path) -> None:
        try:
            recording = read_recording(path)
            assert recording.readings.shape == (len(recording.time_s), len(recording.channels))
            assert np.all(np.diff(recording.time_s) >= 0)
            self.read += 1
        except ReadError as error:
            assert error.code.severity == "refusal" and str(error).isprintable()
            self.refused[error.code.value] += 1
        self.slowest_s = max(self.slowest_s, seconds_to_read(path))


def tally_of(files: list[Path], count: int, folder: Path, seed: int) -> Tally:
    rng = np.random.default_rng(seed)
    tally = Tally()
    for _ in range(count):
        original = files[int(rng.integers(len(files)))]
        damaged = folder / original.name
        damaged.write_bytes(mutate(original.read_bytes(), rng))
        tally.try_one(damaged)
    return tally


@pytest.fixture(scope="module")
def real_files(data_folder: Path) -> list[Path]:
    csv = sorted((data_folder / "smellnet").rglob("*_data/*/**/*.csv"))
    return [*csv, *sorted((data_folder / "uci322").glob("*_plateaus.csv"))]


def test_two_hundred_damaged_real_files_meet_only_our_own_errors(real_files, tmp_path: Path):
    tally = tally_of(real_files, 200, tmp_path, seed=0)
    assert tally.read + sum(tally.refused.values()) == 200
    assert len(tally.refused) >= 5, "the damage must reach many refusals, or it tests nothing"
    assert tally.read >= 5, "some damage must be survivable, or it tests only refusals"
    assert tally.slowest_s < SLOWEST_S


def test_two_hundred_damaged_made_up_files_meet_only_our_own_errors(tmp_path: Path):
    sources = {
        "almond.csv": text(mixture(600)),
        "clove.csv": text(base(600)),
        "log.txt": text(plotter(600)),
        "uci.txt": uci(200).encode(),
    }
    (tmp_path / "sound").mkdir()
    for name, raw in sources.items():
        (tmp_path / "sound" / name).write_bytes(raw)
    tally = tally_of(sorted((tmp_path / "sound").iterdir()), 200, tmp_path, seed=1)
    assert tally.read + sum(tally.refused.values()) == 200
    assert tally.slowest_s < SLOWEST_S


HOSTILE = {
    "blanks": b" " * 40_000 + b"x",
    "blanks and a colon": b"CO:1" + b" " * 40_000 + b"NO2:2\n",
    "half words": b"NO2,CO\n1,2\n" + b"ab1" * 13_000 + b"\n",
    "quotes": b"NO2,CO\n1,2\n" + b'"' * 40_000 + b"\n",
    "brackets": b"(" * 20_000 + b"[ ," + b" " * 20_000 + b"\n1,2\n",
    "separators": b"a" + b"," * 40_000 + b"\n1" + b"," * 40_000 + b"\n",
    "one digit a line": b"a\n" + b"1\n" * 20_000,
    "colons": b":" * 40_000 + b"\n",
    "carriage returns": b"\r" * 40_000 + b"a",
    "thousands": b"a,b\n1," + b"1'000" * 8_000 + b"\n",
    "a long number": b"a,b\n1," + b"9" * 40_000 + b"\n",
    "a long name": b"a" * 40_000 + b",b\n1,2\n",
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_lines_take_no_longer_than_sound_ones(raw: bytes, tmp_path: Path):
    path = tmp_path / "hostile.csv"
    path.write_bytes(raw)
    tally = Tally()
    tally.try_one(path)
    assert tally.slowest_s < SLOWEST_S


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw: bytes):
    path = tmp_path_factory.mktemp("bytes") / "any.csv"
    path.write_bytes(raw)
    tally = Tally()
    tally.try_one(path)
    assert tally.read + sum(tally.refused.values()) == 1


def test_the_tally_would_notice_an_error_that_is_not_ours(tmp_path: Path, monkeypatch):
    path = tmp_path / "almond.csv"
    path.write_bytes(text(mixture()))
    monkeypatch.setattr("unmixnet.recordings.formats.format.find_header", lambda source: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Tally().try_one(path)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_every_kind_of_damage_changes_bytes(damage):
    raw = text(mixture())
    assert any(damage(raw, np.random.default_rng(seed)) != raw for seed in range(5))


@pytest.mark.soak
def test_two_thousand_damaged_real_files_meet_only_our_own_errors(real_files, tmp_path: Path, store_evidence):
    tally = tally_of(real_files, 2000, tmp_path, seed=2)
    assert tally.read + sum(tally.refused.values()) == 2000
    assert tally.slowest_s < SLOWEST_S
    store_evidence(
        "malformed",
        {
            "files": 2000,
            "read": tally.read,
            "refused": dict(sorted(tally.refused.items())),
            "other_errors": 0,
            "slowest_ms": round(1e3 * tally.slowest_s, 3),
            "limit_ms": 1e3 * SLOWEST_S,
        },
    )


@pytest.mark.parametrize("at", [1, 17, 300, -1, -40])
def test_a_file_cut_anywhere_keeps_every_row_before_the_cut(at: int, tmp_path: Path):
    whole = text(mixture(60))
    (tmp_path / "whole.csv").write_bytes(whole)
    cut = whole[: whole.index(b"\n") + 120 + at] if at >= 0 else whole[:at]
    (tmp_path / "cut.csv").write_bytes(cut)
    complete = cut.count(b"\n") - 1
    expected = read_recording(tmp_path / "whole.csv").readings[:complete]
    kept = read_recording(tmp_path / "cut.csv")
    np.testing.assert_array_equal(kept.readings, expected)
    if not cut.endswith(b"\n"):
        assert kept.found(Code.CUT_LINE)[0].line == complete + 2

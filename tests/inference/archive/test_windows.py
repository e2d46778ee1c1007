"""Windows of an archive are those of `unmix`, wherever blocks end, and none spans a jump in time."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inference.bundle.tiny import CHANNELS
from unmixnet.inference.archive import windows as archive_windows
from unmixnet.inference.archive.blocks import RowBlock
from unmixnet.inference.archive.inputs import ErrorRow
from unmixnet.inference.archive.windows import Window, windows_of
from unmixnet.recordings.recording import ChannelHealth, Recording
from unmixnet.recordings.temporal import window_starts

from .archives import rows_of


def recording(rows: int, rate: float, seed: int = 1) -> Recording:
    readings = np.resize(rows_of(seed, 60), (rows, 3)) + np.arange(rows)[:, None] % 17
    health = (ChannelHealth.OK,) * 3
    return Recording(np.arange(rows) / rate, readings, CHANNELS, ("counts",) * 3, rate, "board", "r", None, health)


def cut(whole: Recording, *ends: int, name: str = "") -> list[RowBlock]:
    """The recording in blocks that end at these rows."""
    edges = [0, *sorted(ends), len(whole)]
    return [
        RowBlock(replace(whole, time_s=whole.time_s[a:b].copy(), readings=whole.readings[a:b].copy()), name, a + 1)
        for a, b in pairwise(edges)
        if b > a
    ]


def found(bundle, blocks, kind=Window) -> list:
    return [one for one in windows_of(bundle, "f", blocks) if isinstance(one, kind)]


@pytest.mark.parametrize("rate", [5.0, 2.6, 1.0, 0.5], ids=["means", "between rows", "as it is", "interpolated"])
def test_windows_of_one_block_are_those_of_unmix(bundle, rate):
    whole = recording(200, rate)
    trace = bundle.trace(whole).signal
    size = bundle.spec.window
    expected = [trace[s : s + size] for s in window_starts(len(trace), size, bundle.spec.stride)]
    windows = found(bundle, cut(whole))
    assert len(windows) == len(expected) > 3
    np.testing.assert_allclose([w.signal for w in windows], expected, atol=1e-6)


@given(ends=st.sets(st.integers(3, 396), min_size=1, max_size=12), rate=st.sampled_from([5.0, 2.6, 1.0, 0.5]))
@settings(max_examples=40)
def test_windows_do_not_depend_on_where_blocks_end(bundle, ends, rate):
    whole = recording(400, rate)
    once, again = found(bundle, cut(whole)), found(bundle, cut(whole, *ends))
    assert [(w.start_s, w.end_s) for w in again] == [(w.start_s, w.end_s) for w in once]
    np.testing.assert_allclose([w.signal for w in again], [w.signal for w in once], atol=1e-5)


def test_twin_a_cutter_that_forgets_between_blocks_is_noticed(bundle, monkeypatch):
    monkeypatch.setattr(archive_windows._Stretch, "drop", lambda self, rows: None if rows < 0 else self.__init__(
        self.rate_Hz, self.signal[:0], self.time_s[:0]
    ))  # fmt: skip
    whole = recording(400, 5.0)
    assert len(found(bundle, cut(whole, 33, 170))) < 14


def test_rows_that_no_window_needs_are_dropped(bundle, monkeypatch):
    """Memory does not grow with the length of a recording."""
    kept = []
    drop = archive_windows._Stretch.drop

    def counted(self, rows: int) -> None:
        drop(self, rows)
        kept.append(len(self.signal))

    monkeypatch.setattr(archive_windows._Stretch, "drop", counted)
    whole = recording(4000, 5.0)
    found(bundle, cut(whole, *range(100, 4000, 100)))
    assert len(kept) == 40 and max(kept) <= 51


@pytest.mark.parametrize(("by", "word"), [(1000.0, "on"), (-30.0, "back")])
@pytest.mark.parametrize("ends", [(), (163,), (100,)], ids=["inside a block", "between blocks", "elsewhere"])
def test_no_window_spans_a_jump_in_time(bundle, by, word, ends):
    whole = recording(400, 5.0)
    time_s = whole.time_s.copy()
    time_s[163:] += by
    blocks = [
        replace(b, rows=replace(b.rows, time_s=time_s[b.line - 1 : b.line - 1 + len(b.rows)].copy()))
        for b in cut(whole, *ends)
    ]
    windows, told = found(bundle, blocks), found(bundle, blocks, ErrorRow)
    assert len(windows) > 8 and all(0 < w.end_s - w.start_s < 11 for w in windows)
    (jump,) = told
    assert jump.kind == "jump" and jump.line == 164 and f"time jumps {word} by" in jump.reason


def test_the_baseline_is_that_of_the_beginning_also_after_a_jump(bundle):
    """The model was trained on departures from clean air, which later rows no longer show."""
    whole = recording(400, 5.0)
    time_s = np.where(np.arange(400) < 200, whole.time_s, whole.time_s + 500)
    jumped = found(bundle, cut(replace(whole, time_s=time_s)))
    plain = found(bundle, cut(whole))
    later = [w for w in jumped if w.start_s >= 500]
    match = next(w for w in plain if w.start_s == 40.0)
    np.testing.assert_allclose(later[0].signal, match.signal, atol=1e-6)


def test_many_jumps_are_counted_not_listed(bundle):
    whole = recording(4000, 5.0)
    time_s = whole.time_s + 100 * (np.arange(4000) // 20)
    told = found(bundle, cut(replace(whole, time_s=time_s)), ErrorRow)
    jumps = [t for t in told if t.kind == "jump"]
    assert len(jumps) == 101 and "time jumps 199 times" in jumps[-1].reason


def test_a_recording_that_is_too_short_is_told(bundle):
    (told,) = found(bundle, cut(recording(30, 5.0)), ErrorRow)
    assert "has 6 s without a jump, the model needs at least 10 s. Record for 10 s or longer." in told.reason


def test_a_block_with_too_few_readings_is_told_and_the_rest_is_answered(bundle):
    whole = recording(400, 5.0)
    bad = whole.readings.copy()
    bad[200:300, 1] = np.nan
    blocks = cut(replace(whole, readings=bad), 200, 300)
    (told,) = found(bundle, blocks, ErrorRow)
    assert told.line == 201 and "100% of the readings of VOC are missing" in told.reason
    windows = found(bundle, blocks)
    assert {w.start_s >= 60 for w in windows} == {True, False} and not any(30 < w.start_s < 60 for w in windows)

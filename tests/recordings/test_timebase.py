"""Laws of time columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.timebase import from_column, from_rate


def column(ticks, unit: str = "ms"):
    ticks = np.asarray(ticks, dtype=float)
    return from_column(ticks, unit, file="f.csv", column=1, lines=np.arange(2, len(ticks) + 2))


def test_milliseconds_become_seconds_and_the_median_step_the_rate():
    times = column([0, 100, 200, 300])
    np.testing.assert_allclose(times.time_s, [0, 0.1, 0.2, 0.3])
    assert times.sample_rate_Hz == pytest.approx(10.0)
    assert times.findings == ()


@given(start=st.integers(0, 2**32 - 1), step=st.integers(1, 10**6), rows=st.integers(3, 60))
def test_a_wrapped_counter_gives_the_same_steps_as_one_that_never_wraps(start: int, step: int, rows: int):
    true = start + step * np.arange(rows)
    times = column(true % 2**32)
    np.testing.assert_allclose(np.diff(times.time_s), step / 1e3, atol=1e-8)
    wrapped = bool(true[-1] >= 2**32)
    assert [finding.code for finding in times.findings] == ([Code.MILLIS_WRAP] if wrapped else [])


def test_a_step_back_that_is_no_overflow_is_refused_at_its_line():
    with pytest.raises(ReadError) as caught:
        column([0, 100, 200, 190, 300])
    assert (caught.value.code, caught.value.line) == (Code.TIME_BACKWARDS, 5)


def test_seconds_do_not_overflow():
    with pytest.raises(ReadError):
        column([2**32 - 1, 5, 10], "s")


def test_repeated_times_and_gaps_are_counted():
    times = column([0, 100, 100, 200, 300, 1300, 1400, 1500])
    assert {finding.code: finding.count for finding in times.findings} == {
        Code.TIME_REPEATS: 1,
        Code.TIME_GAP: 1,
    }


@pytest.mark.parametrize("ticks", [[0, np.nan, 200], [5, 5, 5]])
def test_a_time_that_is_absent_or_never_advances_is_refused(ticks):
    with pytest.raises(ReadError) as caught:
        column(ticks)
    assert caught.value.code is Code.TIME_UNREADABLE


def test_without_time_and_rate_one_hertz_is_assumed_aloud():
    assert from_rate(3, None).findings[0].code is Code.RATE_ASSUMED
    assert from_rate(3, 2.0).findings == ()
    np.testing.assert_allclose(from_rate(3, 2.0).time_s, [0, 0.5, 1.0])

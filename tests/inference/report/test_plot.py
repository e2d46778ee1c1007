"""Plots keep what they are given: peaks, gaps, and round labels inside the axis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.inference.report.plot import path, thinned, time_axis, value_axis

numbers = st.floats(-1e9, 1e9, allow_nan=False)


@given(low=numbers, high=numbers)
def test_an_axis_holds_its_values_and_has_labels_inside(low, high):
    scale = value_axis(np.array([low, high]))
    at = scale.at(np.array([low, high]))
    assert np.all((at > 0) & (at < 1))
    places = [float(scale.at(value)) for value, _ in scale.ticks]
    assert 1 <= len(places) <= 7 and all(-1e-6 <= place <= 1 + 1e-6 for place in places)
    assert len({text for _, text in scale.ticks}) == len(places)


@given(seed=st.integers(0, 2**32 - 1))
def test_thinning_keeps_the_extremes(seed):
    values = np.random.default_rng(seed).normal(size=20_000).cumsum()
    time, kept = thinned(np.arange(20_000.0), values)
    assert len(kept) <= 600 and np.all(np.diff(time) > 0)
    assert kept.max() == values.max() and kept.min() == values.min()


def test_twin_taking_every_nth_point_would_lose_a_spike():
    values = np.zeros(20_000)
    values[12_345] = 1.0
    assert values[::34].max() == 0 and thinned(np.arange(20_000.0), values)[1].max() == 1


def test_a_missing_value_lifts_the_pen():
    x = np.linspace(0, 1, 5)
    assert path(x, np.array([0, 1, np.nan, 1, 0.0])).count("M") == 2
    assert path(x, np.full(5, np.nan)) == ""


@pytest.mark.parametrize(("end", "last"), [(59.9, "60 s"), (180.0, "150 s"), (3600.0, "60 min"), (0.0, "1.0 s")])
def test_time_has_a_unit_once(end, last):
    scale = time_axis(np.linspace(0, end, 50))
    assert scale.ticks[-1][1] == last or scale.ticks[-1][1].split()[-1] == last.split()[-1]
    assert sum(" " in text for _, text in scale.ticks) == 1
    assert scale.high >= end

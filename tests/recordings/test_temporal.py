"""Differences, filters and windows do what their equations say, and never look ahead."""

import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.recordings.temporal import cut_windows, high_pass, lag_differences, low_pass

Y = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)


def test_lag_differences_are_differences_over_the_lag():
    D = lag_differences(Y, (5, 25))
    assert D.shape == (275, 4)
    assert D[:, :2] == pytest.approx(Y[25:] - Y[20:-5])
    assert D[:, 2:] == pytest.approx(Y[25:] - Y[:-25])


def test_a_lag_longer_than_the_recording_is_refused():
    with pytest.raises(ConfigError, match="longer recording"):
        lag_differences(Y, (300,))
    with pytest.raises(ConfigError, match="positive"):
        lag_differences(Y, ())


def test_low_and_high_pass_add_up_and_keep_what_is_theirs():
    t = np.arange(4000) / 10
    slow, fast = np.sin(2 * np.pi * 0.002 * t), np.sin(2 * np.pi * 2.0 * t)
    series = (slow + fast)[:, None]
    smooth, rough = low_pass(series, 10, 0.05), high_pass(series, 10, 0.05)
    assert smooth + rough == pytest.approx(series)
    assert np.corrcoef(smooth[500:, 0], slow[500:])[0, 1] > 0.99
    assert np.corrcoef(rough[500:, 0], fast[500:])[0, 1] > 0.99


def test_a_constant_passes_the_low_pass_from_the_first_sample_on():
    assert low_pass(np.full((50, 1), 512.0), 10, 0.1) == pytest.approx(np.full((50, 1), 512.0))


def test_filters_are_causal():
    changed = Y.copy()
    changed[200:] += 100
    assert low_pass(changed, 10, 0.1)[:200] == pytest.approx(low_pass(Y, 10, 0.1)[:200])
    assert lag_differences(changed, (25,))[:175] == pytest.approx(lag_differences(Y, (25,))[:175])


def test_windows_tile_the_series_and_drop_the_tail():
    W = cut_windows(Y, 100, 50)
    assert W.shape == (5, 100, 2)
    for i, window in enumerate(W):
        assert window == pytest.approx(Y[50 * i : 50 * i + 100])
    assert len(cut_windows(Y[:99], 100, 50)) == 0

"""An interval resamples what is independent."""

import numpy as np
import pytest

from unmixnet.errors import UnmixError
from unmixnet.metrics import bootstrap_interval, mae


def _noisy(groups: int, each: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Predictions whose error is shared by all samples of a group."""
    rng = np.random.default_rng(seed)
    true = np.tile([1.0, 0.0], (groups * each, 1))
    error = np.repeat(rng.uniform(0, 0.5, groups), each)
    return true + np.stack([-error, error], 1), true, list(np.repeat(np.arange(groups), each))


def test_windows_of_one_recording_do_not_narrow_the_interval():
    few, many = _noisy(20, 1, 0), _noisy(20, 50, 0)
    a, b = bootstrap_interval(mae, *few), bootstrap_interval(mae, *many)
    assert (b.lo, b.hi) == pytest.approx((a.lo, a.hi))
    assert b.groups == 20


def test_forgetting_the_groups_is_overconfident():
    guess, true, groups = _noisy(20, 50, 0)
    honest = bootstrap_interval(mae, guess, true, groups)
    twin = bootstrap_interval(mae, guess, true, range(len(true)))
    assert twin.hi - twin.lo < 0.25 * (honest.hi - honest.lo)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    covered = 0
    for seed in range(100):
        guess, true, groups = _noisy(40, 3, seed)
        interval = bootstrap_interval(mae, guess, true, groups, resamples=200, seed=seed)
        covered += interval.lo <= 0.25 <= interval.hi
    assert 85 <= covered <= 100


def test_a_group_is_needed_for_every_sample():
    with pytest.raises(UnmixError, match="group names"):
        bootstrap_interval(mae, np.eye(2), np.eye(2), [0])

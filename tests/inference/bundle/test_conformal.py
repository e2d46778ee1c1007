"""Conformal intervals cover what they promise, on recordings like those they were made from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.inference.bundle.calibration import Intervals, fit_intervals, pooled_quantile


def recordings(rng: np.random.Generator, n: int, *, error: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Guesses and truth of n recordings of five components; errors of one recording share a size."""
    truth = rng.dirichlet(np.full(5, 0.5), size=n)
    size = error * rng.exponential(1, (n, 1))
    guess = np.clip(truth + size * rng.normal(size=(n, 5)), 1e-6, None)
    return guess / guess.sum(axis=1, keepdims=True), truth


def coverage(trials: int, n: int, *, later: float = 0.1) -> float:
    """Mean coverage of new recordings over many calibrations; `later` is the size of their errors."""
    rng, inside = np.random.default_rng(0), []
    for _ in range(trials):
        table = fit_intervals(*recordings(rng, n))
        guess, truth = recordings(rng, 50, error=later)
        low, high = table.of(guess)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    return float(np.mean(inside))


@pytest.mark.parametrize("n", [20, 60])
def test_new_recordings_are_covered_as_promised(n):
    assert 0.89 <= coverage(100, n) <= 0.96


def test_twin_recordings_with_larger_errors_are_not_covered():
    assert coverage(30, 60, later=0.4) < 0.85


@given(st.lists(st.floats(0, 1), min_size=5, max_size=5), st.floats(0.01, 5), st.floats(0.01, 5))
def test_intervals_contain_the_share_and_lie_between_zero_and_one(shares, present, absent):
    a = np.array(shares)
    low, high = Intervals(0.05, 0.1, present, absent, 30).of(a)
    assert np.all((low >= 0) & (low <= a) & (a <= high) & (high <= 1))


def test_the_quantile_is_the_classical_one_where_every_recording_has_one_score():
    values = np.random.default_rng(0).permutation(np.arange(1.0, 40.0))
    k = int(np.ceil(0.9 * (len(values) + 1)))
    assert pooled_quantile([np.array([v]) for v in values], 0.9) == np.sort(values)[k - 1]


@pytest.mark.parametrize("n", [0, 3, 8])
def test_too_few_recordings_promise_nothing(n):
    assert pooled_quantile([np.array([1.0])] * n, 0.9) is None
    guess, truth = recordings(np.random.default_rng(0), max(n, 1))
    low, high = fit_intervals(guess, truth).of(guess)
    assert np.all(low == 0) and np.all(high == 1)


def test_nine_recordings_are_enough():
    assert pooled_quantile([np.array([float(i)]) for i in range(9)], 0.9) == 8.0


def test_a_recording_with_many_components_weighs_as_much_as_one_with_few():
    few, many = [np.array([1.0])] * 30, [np.full(50, 9.0)]
    assert pooled_quantile([*few, *many], 0.9) == 1.0

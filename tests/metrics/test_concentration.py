"""Laws of the concentration metrics."""

import numpy as np
import pytest

from unmixnet.errors import UnmixError
from unmixnet.metrics import (
    concordance,
    forecast_rmse,
    gas_id_accuracy,
    normalised_mae,
    r_squared,
    slope,
    transition_residual,
)

TRUE = np.array([0.0, 10.0, 10.0, 20.0, 0.0])


def test_the_mean_predictor_has_r_squared_zero_and_truth_has_one():
    assert r_squared(np.full(5, TRUE.mean()), TRUE) == pytest.approx(0)
    assert r_squared(TRUE, TRUE) == 1


def test_concordance_punishes_offset_and_scale_that_correlation_forgives():
    assert concordance(TRUE, TRUE) == pytest.approx(1)
    for twin in (TRUE + 5, 2 * TRUE):
        assert np.corrcoef(twin, TRUE)[0, 1] == pytest.approx(1)
        assert concordance(twin, TRUE) < 0.95


def test_slope_reads_how_much_of_a_change_is_rendered():
    assert slope(0.4 * TRUE + 3, TRUE) == pytest.approx(0.4)


def test_gas_id_needs_the_whole_support():
    true = np.array([[0, 1.0], [2, 0], [2, 3]])
    guess = np.array([[0, 0.9], [2, 0.6], [2, 3]])
    assert gas_id_accuracy(guess, true, threshold_ppm=0.5) == pytest.approx(2 / 3)


def test_normalised_errors_are_free_of_the_unit():
    true = np.array([[10.0, 100.0], [20.0, 0.0]])
    guess = true + np.array([1.0, 10.0])
    here = normalised_mae(guess, true, largest_ppm=np.array([20.0, 100.0]))
    assert here == pytest.approx((1 / 20 + 10 / 100) / 2)
    assert normalised_mae(guess * 7, true * 7, largest_ppm=np.array([140.0, 700.0])) == pytest.approx(here)
    assert forecast_rmse(guess, true, calibration_sd=np.array([1.0, 10.0])) == pytest.approx(1)
    with pytest.raises(UnmixError, match="positive"):
        normalised_mae(guess, true, largest_ppm=np.array([0.0, 1.0]))


def test_transition_residual_looks_only_at_the_minute_after_a_change():
    time_s = np.arange(300.0)
    true = np.where(time_s < 100, 0.0, 10.0)[:, None]
    guess = true.copy()
    guess[200:] += 5  # wrong, but long after the change
    assert transition_residual(guess, true, time_s, range_ppm=np.array([10.0])) == 0
    guess[100:130] -= 10
    assert transition_residual(guess, true, time_s, range_ppm=np.array([10.0])) == pytest.approx(0.5)
    assert np.isnan(transition_residual(true[:50], true[:50], time_s[:50], range_ppm=np.array([10.0])))

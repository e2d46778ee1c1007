"""Temperature and support keep shares on the simplex and in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.inference.bundle.calibration import projected, sharpened
from unmixnet.training.calibrate_bundle import choose_sharpening

RATIOS = st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda x: sum(x) > 0.1)


@given(RATIOS, st.floats(0.3, 3), st.floats(0, 0.6))
def test_shares_stay_on_the_simplex_and_in_order(parts, temperature, support):
    ratios = np.array(parts) / sum(parts)
    shares = projected(sharpened(ratios, temperature), support)
    assert abs(shares.sum() - 1) < 1e-9 and shares.min() >= 0
    order = np.argsort(ratios, kind="stable")
    assert np.all(np.diff(shares[order]) >= -1e-12)


@given(RATIOS)
def test_temperature_one_and_support_zero_change_nothing(parts):
    ratios = np.array(parts) / sum(parts)
    np.testing.assert_array_equal(projected(sharpened(ratios, 1.0), 0.0), ratios)


def test_a_low_temperature_sharpens_and_a_high_one_flattens():
    ratios = np.array([0.6, 0.4])
    assert sharpened(ratios, 0.5)[0] > 0.6 > sharpened(ratios, 2.0)[0]


def test_the_largest_share_survives_any_threshold():
    np.testing.assert_array_equal(projected(np.array([0.4, 0.3, 0.3]), 0.9), [1, 0, 0])


def test_shares_under_the_threshold_go_to_the_others_in_proportion():
    np.testing.assert_allclose(projected(np.array([0.57, 0.38, 0.05]), 0.1), [0.6, 0.4, 0], atol=1e-12)


def guesses(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(4), size=40), rng.dirichlet(np.ones(4), size=40)


@pytest.mark.parametrize("true", [0.5, 0.7, 1.5])
def test_the_temperature_that_made_the_ratios_is_found(true):
    truth, _ = guesses(0)
    assert choose_sharpening(sharpened(truth, 1 / true), truth)[0] == true


def test_flat_background_shares_are_cut_off():
    truth = np.repeat(np.eye(4), 5, axis=0)
    temperature, support = choose_sharpening(0.88 * truth + 0.03, truth)
    assert support > 0 or temperature < 1


def test_the_identity_stays_where_nothing_is_better():
    truth, _ = guesses(1)
    assert choose_sharpening(truth, truth) == (1.0, 0.0)


def test_class_probabilities_keep_their_support():
    truth = np.repeat(np.eye(4), 5, axis=0)
    guess = np.full((20, 4), 0.1) + 0.6 * truth
    assert choose_sharpening(guess, truth, classes=True)[1] == 0.0

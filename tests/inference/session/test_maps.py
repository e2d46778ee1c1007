"""Maps between sessions: exact where a session does what they assume, harmless where it does nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.inference.session.calibration import AffineMap, identity
from unmixnet.inference.session.maps import fit_clean_air, fit_gain, fit_offset, fit_prototype, fit_ridge

M = 4
FITS = (fit_offset, fit_prototype, fit_gain, fit_ridge)
numbers = st.lists(st.floats(-3, 3), min_size=M, max_size=M).map(np.array)
gains = st.lists(st.floats(0.5, 2), min_size=M, max_size=M).map(np.array)


def levels(k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1.5, (k, M))


@given(numbers)
def test_offsets_are_found_exactly_from_one_reference(shift):
    master, new = levels(1), levels(5, seed=1)
    found = fit_offset(master - shift, master)
    np.testing.assert_allclose(found.apply(new - shift), new, atol=1e-12)
    np.testing.assert_allclose(found.offset, shift, atol=1e-12)


@given(numbers, gains)
def test_gains_are_found_exactly_without_shrinking(shift, gain):
    master, new = levels(3), levels(5, seed=1)
    found = fit_gain(gain * master + shift, master, shrink=0)
    np.testing.assert_allclose(found.apply(gain * new + shift), new, atol=1e-9)


@given(numbers, gains)
def test_shrunken_gains_lie_between_one_and_the_truth(shift, gain):
    found = np.array(fit_gain(gain * levels(5) + shift, levels(5), shrink=0.3).gain)
    assert np.all((found - 1) * (1 / gain - 1) >= -1e-9)
    assert np.all(np.abs(found - 1) <= np.abs(1 / gain - 1) + 1e-9)


@given(st.integers(0, 1000))
def test_leaking_sensors_are_separated_without_shrinking(seed):
    mix = np.eye(M) + 0.2 * np.random.default_rng(seed).normal(size=(M, M))
    master, new = levels(9), levels(5, seed=1)
    found = fit_ridge(master @ mix.T + 0.3, master, shrink=0)
    np.testing.assert_allclose(found.apply(new @ mix.T + 0.3), new, atol=1e-6)


def test_twin_gains_alone_cannot_separate_leaking_sensors():
    mix = np.eye(M) + 0.3 * np.roll(np.eye(M), 1, axis=0)
    master = levels(9)
    found = fit_gain(master @ mix.T, master, shrink=0)
    assert np.max(np.abs(found.apply(master @ mix.T) - master)) > 0.1


def test_one_reference_moves_prototypes_half_of_the_way_and_many_move_them_all():
    shift = np.array([1.0, -2.0, 0.5, 0.0])
    assert fit_prototype(levels(1) - shift, levels(1)).offset == pytest.approx(shift / 2)
    assert fit_prototype(levels(99) - shift, levels(99)).offset == pytest.approx(0.99 * shift)


@pytest.mark.parametrize("fit", FITS, ids=lambda fit: fit.__name__)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_session_like_training_needs_no_calibration(fit, k):
    new = levels(6, seed=2)
    np.testing.assert_allclose(fit(levels(k), levels(k)).apply(new), new, atol=1e-9)


def test_clean_air_is_moved_to_where_the_bundle_has_it():
    air = (-1.0, -0.5, 0.0, 0.5)
    found = fit_clean_air(np.array(air) + np.array([[0.3] * M, [0.5] * M]), air)
    np.testing.assert_allclose(found.offset, -0.4)


@given(numbers, gains, st.integers(0, 1000))
def test_a_map_can_be_undone(shift, gain, seed):
    cross = 0.1 * np.random.default_rng(seed).normal(size=(M, M))
    cross -= np.diag(np.diag(cross))
    found = AffineMap(tuple(gain), tuple(shift), tuple(map(tuple, cross)))
    signal = levels(7, seed=seed)
    np.testing.assert_allclose(found.undo(found.apply(signal)), signal, atol=1e-8)
    assert np.array_equal(identity(M).apply(signal), signal)

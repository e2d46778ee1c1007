"""Factors per substance: what cannot be known of a concentration does not count against it."""

import numpy as np
import pytest

from studies.states.state_scores import CellStates, factors


@pytest.fixture
def truth() -> CellStates:
    rng = np.random.default_rng(0)
    return CellStates(*(rng.exponential(size=(3, 5, places, 4)) for places in (8, 14, 2)))


def test_one_factor_per_substance_is_found(truth):
    scale = np.array([0.5, 1.0, 2.0, 4.0])
    guess = CellStates(truth.concentration / scale, truth.flux / scale, truth.coverage / scale[::-1])
    found = factors(guess, truth)
    np.testing.assert_allclose(found["concentration"], scale)
    np.testing.assert_allclose(found["flux"], scale)
    np.testing.assert_allclose(found["coverage"], scale[::-1])


def test_a_factor_does_not_mend_a_wrong_shape(truth):
    turned = CellStates(truth.concentration[:, ::-1], truth.flux[:, ::-1], truth.coverage[:, ::-1])
    rest = turned.concentration * factors(turned, truth)["concentration"] - truth.concentration
    assert np.sqrt(np.mean(rest**2)) > 0.3


def test_a_substance_that_is_never_inferred_keeps_a_factor_of_one(truth):
    nothing = CellStates(*(0 * part for part in (truth.concentration, truth.flux, truth.coverage)))
    np.testing.assert_array_equal(factors(nothing, truth)["concentration"], np.ones(4))

"""Trajectory errors: zero for the truth, one for nothing, and intervals over what is independent."""

from dataclasses import replace

import numpy as np
import pytest

from studies.states.networks import gauged
from studies.states.physical import QUANTITIES, PhysicalStates, compared, mean_row, rmse_row, squared_errors, units

NAMES = ("states:real:seen", "test_seen", "a model", "RMSE C")
ARRAYS = ("concentration", "flux", "coverage", "mass")


@pytest.fixture
def truth() -> PhysicalStates:
    rng = np.random.default_rng(0)
    shapes = ((8, 3), (14, 3), (4, 3), (3,))
    return PhysicalStates(*(rng.exponential(size=(6, 5, *shape)) for shape in shapes), np.array([2, 3, 4, 5]))


def _times(states: PhysicalStates, factor: float) -> PhysicalStates:
    return replace(states, **{name: factor * getattr(states, name) for name in ARRAYS})


@pytest.mark.parametrize("same_graph", [True, False])
def test_the_truth_scores_zero_and_nothing_scores_one(truth, same_graph):
    unit = units(truth, same_graph=same_graph)
    for factor, expected in ((1.0, 0.0), (0.0, 1.0), (2.0, 1.0)):
        found = squared_errors(_times(truth, factor), truth, unit, same_graph=same_graph)
        rows = [rmse_row(NAMES, [found[what]], [*"abcdef"]) for what in QUANTITIES]
        np.testing.assert_allclose([row.mean for row in rows], expected, atol=1e-12)


def test_a_wrong_cell_counts_only_where_a_sensor_breathes(truth):
    unit = units(truth)
    wrong = truth.concentration.copy()
    wrong[:, :, 0] += 5
    assert squared_errors(replace(truth, concentration=wrong), truth, unit)["C"].max() == 0
    wrong[:, :, 2] += 5
    assert squared_errors(replace(truth, concentration=wrong), truth, unit)["C"].min() > 0


def test_on_another_graph_the_flux_is_one_number_a_second(truth):
    assert compared(truth, same_graph=False)["J"].shape == (6, 5, 1)
    assert compared(truth, same_graph=True)["J"].shape == (6, 5, 14, 3)
    turned = replace(truth, flux=-truth.flux[:, :, ::-1])
    assert squared_errors(turned, truth, units(truth, same_graph=False), same_graph=False)["J"].max() < 1e-25


def test_recordings_of_one_support_stay_together():
    values = np.array([0.0, 0.0, 0.0, 4.0, 4.0, 4.0])
    alone = rmse_row(NAMES, [values], [*"abcdef"])
    together = rmse_row(NAMES, [values], [*"aaabbb"])
    assert (alone.n, together.n) == (6, 2)
    assert together.hi - together.lo > alone.hi - alone.lo
    assert (together.lo, together.hi) == (0.0, 2.0)


def test_the_spread_is_over_seeds():
    row = mean_row(NAMES, [np.full(4, 1.0), np.full(4, 3.0)], [*"abcd"])
    assert (row.mean, row.seeds) == (2.0, 2)
    assert row.sd == pytest.approx(np.sqrt(2))


def test_one_factor_per_substance_is_taken_back(truth):
    scale = np.array([0.5, 2.0, 8.0])
    guess = replace(truth, **{name: getattr(truth, name) / scale for name in ARRAYS})
    found = gauged(guess, guess, truth, same_graph=True)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(found, name), getattr(truth, name))


def test_a_factor_does_not_mend_another_order_of_times(truth):
    turned = replace(truth, **{name: getattr(truth, name)[:, ::-1] for name in ARRAYS})
    found = gauged(turned, turned, truth, same_graph=True)
    errors = squared_errors(found, truth, units(truth))
    assert min(value.min() for value in errors.values()) > 0.05


def test_scalars_are_means_over_places_and_substances_and_mass_a_sum(truth):
    scalars = truth.scalars()
    np.testing.assert_allclose(scalars["C"][1, 2], truth.concentration[1, 2, 2:6].mean())
    np.testing.assert_allclose(scalars["M"][1, 2], truth.mass[1, 2].sum())
    np.testing.assert_allclose(replace(truth, flux=-truth.flux).scalars()["J"], scalars["J"])

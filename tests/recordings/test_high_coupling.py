"""The high-coupling recordings: fractions and diffusivities as promised, the plan of `simulated`, the truth known."""

from dataclasses import replace

import numpy as np
import pytest

from studies.states.state_scores import true_states
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.protocols import protocol
from unmixnet.recordings.simulated import (
    HIGH_COUPLING,
    TYPICAL_MOL,
    Setting,
    is_simulated,
    plan_of,
    setting_of,
    shares,
    simulated_dataset,
)
from unmixnet.simulation.simulated_nose import FOODS, solve, true_process


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_of(load_dataset("high-coupling"))


def peaks(setting: Setting, released: np.ndarray) -> np.ndarray:
    """Largest total fraction of odorants in the chamber, of each recording."""
    N = np.asarray(solve(setting, released, save=("N",), every=20).N)
    return (1 - N[..., 0] / N.sum(axis=-1)).max(axis=(1, 2))


@pytest.fixture(scope="module")
def fractions(setting) -> np.ndarray:
    """Of the weakest and the strongest recordings."""
    order = np.argsort(shares(setting) @ np.asarray(true_process(setting).source.amount))
    return peaks(setting, shares(setting)[order[[*range(8), *range(-8, 0)]]])


def test_odorants_are_a_tenth_to_a_half_of_the_gas(fractions):
    assert 0.1 <= fractions.min() < 0.2 < 0.35 < fractions.max() <= 0.5


def test_twin_foods_are_traces():
    small = Setting(sessions=2)
    assert peaks(small, shares(small)[:8]).max() < 1e-3


def test_diffusivities_spread_by_more_than_five(setting):
    D = np.asarray(true_process(setting).diffusion.D)
    apart = D[~np.eye(len(D), dtype=bool)]
    assert apart.max() / apart.min() > 5


def test_recipes_are_held_out_and_every_recording_has_a_name_of_its_own(setting):
    plan = plan_of(setting)
    assert len(set(plan.paths)) == len(plan.paths) == 126
    seen, unseen = (protocol(f"high-coupling:{split}") for split in ("seen", "unseen"))
    known = {piece.label.support for piece in seen.folds[0].train}
    assert seen.folds[0].train == unseen.folds[0].train and seen.data.components == HIGH_COUPLING.components
    assert not known & {piece.label.support for piece in unseen.folds[0].test}
    assert is_simulated(seen.data) and (len(seen.folds[0].test), len(unseen.folds[0].test)) == (15, 36)


def test_what_a_model_may_know_is_the_order_of_the_amounts_and_no_more(setting):
    amounts = np.asarray(true_process(setting).source.amount)
    assert 0.3 < TYPICAL_MOL / np.exp(np.log(amounts).mean()) < 3
    assert not np.allclose(amounts, TYPICAL_MOL, rtol=0.05)


def test_true_states_are_kept_on_the_cells_of_the_model(setting):
    truth = true_states(setting, [0, 100])
    assert truth.flux.shape == (2, 60, 14, 6) and truth.concentration.shape == (2, 60, 8, 6)
    assert np.abs(truth.flux).max() > 0 and truth.concentration.max() > 4, "a tenth of the air is 4 mol/m³"


REMEMBERED = [[194, 184, 173, 186], [354, 423, 465, 661], [408, 495, 528, 720]]
"""Counts of a recording of foods, as they were before there was another world."""


def test_the_world_of_foods_is_as_it_was():
    foods = simulated_dataset(sessions=2)
    assert replace(FOODS) == setting_of(foods).world
    # a count may round the other way where a machine adds in another order
    assert np.abs(foods.read(foods.entries[80]).readings[[0, 300, 599]] - REMEMBERED).max() <= 1

"""Simulated recordings: always there, reproducible, with held-out supports that are really new."""

import numpy as np
import pytest

from unmixnet.data.datasets import load
from unmixnet.data.simulated import VOLATILES
from unmixnet.physics.species import SPECIES


@pytest.fixture(scope="module")
def dataset():
    return load("simulated")


def test_every_food_stands_for_a_species_of_the_table(dataset):
    assert set(dataset.components) == set(VOLATILES)
    assert set(VOLATILES.values()) <= set(SPECIES)


def test_unseen_supports_do_not_occur_in_training(dataset):
    seen = {entry.label.support for entry in dataset.of("training")}
    assert all(entry.label.support not in seen for entry in dataset.of("test_unseen"))
    assert all(entry.label.support in seen for entry in dataset.of("test_seen"))


def test_the_last_session_is_for_testing_only(dataset):
    trained = {entry.session for entry in dataset.of("training")}
    assert not trained & {entry.session for entry in dataset.of("test_seen")}


def test_recordings_are_counts_that_respond_and_differ_by_recipe(dataset):
    pure = {entry.label.names[0]: dataset.read(entry).readings for entry in dataset.of("test_seen")[:12]}
    for readings in pure.values():
        assert readings.shape == (600, 4)
        assert np.array_equal(readings, np.round(readings)) and 0 <= readings.min() <= readings.max() <= 1023
        assert np.ptp(readings, axis=0).max() > 50, "something happened"
    levels = np.array([readings[-100:].mean(axis=0) for readings in pure.values()])
    gaps = np.abs(levels[:, None] - levels[None]).max(axis=2)[~np.eye(12, dtype=bool)]
    assert gaps.min() > 1.0, "no two foods are the same to this array"


def test_the_data_set_is_the_same_each_time(dataset):
    from unmixnet.data import simulated

    entry = dataset.of("test_unseen")[0]
    first = dataset.read(entry).readings.copy()
    simulated._counts.cache_clear()
    assert np.array_equal(first, load("simulated").read(entry).readings)

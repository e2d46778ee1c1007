"""Computed files show: no memory, or values off the grid. Measured ones do not."""

import numpy as np
import pytest

from unmixnet.recordings.audit.computed_files import (
    decimals,
    is_white_noise,
    lag1_autocorrelation,
    off_grid_channels,
    usual_decimals,
)

from .conftest import sensor_like


@pytest.mark.parametrize("seed", range(20))
def test_white_noise_is_called_so_and_a_slow_sensor_is_not(seed):
    rng = np.random.default_rng(seed)
    assert is_white_noise(rng.normal(500, 3, size=(600, 4)))
    assert not is_white_noise(sensor_like(rng))


def test_one_slow_channel_among_noisy_ones_is_enough_to_be_real():
    rng = np.random.default_rng(0)
    readings = rng.normal(500, 3, size=(600, 4))
    readings[:, 2] = sensor_like(rng)[:, 2]
    assert not is_white_noise(readings)


def test_a_constant_file_or_a_single_channel_proves_nothing():
    rng = np.random.default_rng(0)
    assert not is_white_noise(np.full((600, 4), 7.0))
    assert not is_white_noise(rng.normal(size=(600, 1)))
    assert not is_white_noise(rng.normal(size=(20, 4)))


def test_memory_is_measured_by_the_lag_one_autocorrelation():
    rng = np.random.default_rng(0)
    e = rng.normal(size=20_000)
    x = np.zeros_like(e)
    for i in range(1, len(e)):
        x[i] = 0.7 * x[i - 1] + e[i]
    r1 = lag1_autocorrelation(np.stack([x, e, np.zeros_like(e)], axis=1))
    assert r1[:2] == pytest.approx([0.7, 0.0], abs=0.03)
    assert np.isnan(r1[2])


def test_decimals_beyond_the_converter_are_off_the_grid():
    counts = np.array([[512.0, 20.25], [513.0, 20.5]])
    jittered = counts + np.array([0.3, 0.0])
    usual = usual_decimals([decimals(counts)] * 3 + [decimals(jittered)])
    assert usual == (0, 2)
    assert not off_grid_channels(decimals(counts), usual, ("gas", "T"))
    assert off_grid_channels(decimals(jittered), usual, ("gas", "T")) == {"gas": 1}


def test_where_every_file_has_many_decimals_nothing_is_off_the_grid():
    rng = np.random.default_rng(0)
    places = [decimals(rng.normal(size=(50, 2))) for _ in range(5)]
    assert usual_decimals(places) == (None, None)

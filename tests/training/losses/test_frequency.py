"""Slow and fast parts of a residual: each filter is blind to what the other sees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from tests.training.losses.slopes import descent, is_finite
from unmixnet.errors import ConfigError
from unmixnet.training.losses import fast_part, frequency_loss, slow_part

T, M, RATE = 120, 2, 10.0


def trace(seed: int, size: float = 1.0):
    return size * jnp.asarray(np.random.default_rng(seed).normal(size=(T, M)))


@given(seed=seeds)
def test_a_perfect_reconstruction_costs_nothing(seed):
    assert frequency_loss(trace(seed), trace(seed), RATE) == 0


@given(seed=seeds)
def test_twin_any_other_costs(seed):
    assert frequency_loss(trace(seed), trace(seed + 1), RATE) > 1e-2


def test_the_high_passes_are_blind_to_an_offset_and_the_low_pass_is_not():
    offset = jnp.full((T, M), 0.3)
    assert fast_part(offset, RATE) == 0
    assert slow_part(offset, RATE) == pytest.approx(0.09)


def test_the_low_pass_is_blind_to_an_oscillation_of_its_length_and_the_high_passes_are_not():
    # 1.25 s a period: four in a window; lags of 1, 2 and 5 s shift it by 0.8, 1.6 and 4 periods
    t = np.arange(T) / RATE
    wave = jnp.asarray(np.sin(2 * np.pi * t / 1.25))[:, None] * jnp.ones((1, M))
    assert slow_part(wave, RATE) <= 1e-28
    assert fast_part(wave, RATE) > 1


def test_a_ramp_gives_the_squares_of_its_lags():
    ramp = jnp.asarray(np.arange(T) / RATE)[:, None] * jnp.ones((1, M))
    assert fast_part(ramp, RATE) == pytest.approx(1 + 4 + 25)


@given(seed=seeds)
def test_the_moving_average_is_that_of_numpy(seed):
    residual = trace(seed)
    smooth = [np.convolve(column, np.ones(50) / 50, "valid") for column in np.asarray(residual).T]
    assert slow_part(residual, RATE) == pytest.approx(np.mean(np.square(smooth)))


@given(seed=seeds)
def test_it_pushes_the_reconstruction_towards_the_recording(seed):
    Y, Y_hat = trace(seed), trace(seed + 1)
    assert descent(at_ten_hertz, Y_hat, Y) == pytest.approx(1, abs=0.1)


def at_ten_hertz(Y_hat, Y):
    return frequency_loss(Y, Y_hat, RATE)


def test_it_pushes_an_offset_back():
    slope = jax.grad(lambda offset: frequency_loss(trace(0), trace(0) + offset, RATE))(0.3)
    assert slope == pytest.approx(0.6)


@pytest.mark.parametrize("length", [1, 2, 7, 51])
@pytest.mark.parametrize("rate", [0.01, 1.0, 10.0])
def test_short_and_slow_recordings_have_finite_losses(length, rate):
    offset = jnp.full((length, M), 0.3)
    assert frequency_loss(offset, jnp.zeros_like(offset), rate) == pytest.approx(0.09)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e15])
def test_loss_and_derivatives_are_finite_everywhere(size):
    assert is_finite(at_ten_hertz, trace(0, size), trace(1, size))


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ConfigError, match="rate_Hz"):
        frequency_loss(trace(0), trace(1), rate)

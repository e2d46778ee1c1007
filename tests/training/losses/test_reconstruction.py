"""Reconstruction: the mean squared residual of what counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from tests.training.losses.slopes import descent, is_finite
from unmixnet.training.losses import reconstruction_loss

T, M = 20, 3


def trace(seed: int):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(T, M)))


@given(seed=seeds)
def test_a_perfect_reconstruction_costs_nothing_and_an_offset_its_square(seed):
    Y = trace(seed)
    assert reconstruction_loss(Y, Y) == 0
    assert reconstruction_loss(Y, Y + 0.5) == pytest.approx(0.25)
    assert reconstruction_loss(Y, Y + 0.5, jnp.full((T, M), 3.0)) == pytest.approx(0.25)


@given(seed=seeds)
def test_it_pushes_the_reconstruction_towards_the_recording(seed):
    Y, Y_hat = trace(seed), trace(seed + 1)
    assert np.array_equal(jax.grad(reconstruction_loss, 1)(Y, Y_hat) < 0, Y_hat < Y)
    assert descent(reconstruction_loss, Y_hat, Y) == pytest.approx(1, abs=1e-2)


def test_what_has_no_weight_may_hold_anything():
    Y = trace(0)
    weight = jnp.ones((T, M)).at[3:6].set(0)
    spoiled = Y.at[4].set(jnp.nan)
    loss, slope = jax.value_and_grad(reconstruction_loss, 1)(spoiled, Y + 0.5, weight)
    assert loss == pytest.approx(0.25)
    assert np.all(slope[3:6] == 0) and np.all(slope[:3] > 0)


def test_twin_without_weights_the_same_recording_has_no_loss():
    assert np.isnan(reconstruction_loss(trace(0).at[4].set(jnp.nan), trace(0)))


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e15])
def test_loss_and_derivatives_are_finite_everywhere(size):
    assert is_finite(reconstruction_loss, size * trace(0), jnp.zeros((T, M)))
    for weight in (0.0, 1e-30, 1.0):
        assert is_finite(reconstruction_loss, size * trace(0), size * trace(1), jnp.full((T, M), weight))

"""Reconstruction: the mean squared residual."""

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


@given(seed=seeds)
def test_it_pushes_the_reconstruction_towards_the_recording(seed):
    Y, Y_hat = trace(seed), trace(seed + 1)
    assert np.array_equal(jax.grad(reconstruction_loss, 1)(Y, Y_hat) < 0, Y_hat < Y)
    assert descent(reconstruction_loss, Y_hat, Y) == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e15])
def test_loss_and_derivatives_are_finite_everywhere(size):
    for other in (jnp.zeros((T, M)), size * trace(1)):
        assert is_finite(reconstruction_loss, size * trace(0), other)

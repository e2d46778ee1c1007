"""Level norm: it starts as instance norm, and what it takes away stands beside the trace."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from unmixnet.model.trunk import N_FEATURES, LevelNorm, level_features

from .tiny import filled, finite, quick_jit

START = LevelNorm.of(jax.random.key(0))
LEARNED = filled(jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), START))
ROWS = 20


@quick_jit
def normed(norm, y):
    return norm(y), level_features(y)


@quick_jit
@eqx.filter_grad
def slopes(both, weight):
    norm, y = both
    return jnp.sum(weight * norm(y)) + jnp.sum(level_features(y))


def trace(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=ROWS) * 10 ** rng.uniform(0, 2) + 10 * rng.normal()


@given(seed=seeds)
def test_it_starts_as_instance_norm(seed):
    y = trace(seed)
    out = np.asarray(normed(START, jnp.asarray(y))[0])
    np.testing.assert_allclose(out, (y - y.mean()) / np.sqrt(y.var() + 0.05**2), atol=1e-10)


@given(seed=seeds)
def test_at_its_start_it_does_not_see_the_level(seed):
    y = trace(seed)
    np.testing.assert_allclose(
        normed(START, jnp.asarray(y))[0], normed(START, jnp.asarray(y + 50))[0], rtol=1e-8, atol=1e-8
    )


def test_twin_once_it_has_learned_it_may_see_the_level():
    y = trace(0)
    one, other = normed(LEARNED, jnp.asarray(y))[0], normed(LEARNED, jnp.asarray(y + 50))[0]
    assert np.max(np.abs(one - other)) > 1e-3


@given(seed=seeds)
def test_the_features_give_back_what_the_norm_removes(seed):
    y = trace(seed)
    out, features = normed(START, jnp.asarray(y))
    mu, log_sigma, first, last = np.asarray(features)[:4]
    np.testing.assert_allclose(np.exp(log_sigma) * np.asarray(out) + mu, y, rtol=1e-9, atol=1e-9)
    assert (first, last) == (y[0], y[-1])
    assert features.shape == (N_FEATURES,)


def test_noise_below_the_floor_is_not_blown_up_to_an_answer():
    y = 1e-4 * trace(1) / np.std(trace(1))
    assert np.max(np.abs(normed(START, jnp.asarray(y))[0])) < 0.01


@pytest.mark.parametrize("norm", [START, LEARNED], ids=["start", "learned"])
@pytest.mark.parametrize("level", [0.0, 3.0, 1e6])
def test_a_constant_trace_has_finite_derivatives(norm, level):
    weight = jnp.asarray(np.random.default_rng(0).normal(size=ROWS))
    assert finite(slopes((norm, jnp.full(ROWS, level)), weight))
    assert finite(normed(norm, jnp.full(ROWS, level)))

"""Entropy of a place: none for one cell, ln V for all, and it prefers one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from tests.training.losses.slopes import descent, is_finite
from unmixnet.physics.source import source_weights
from unmixnet.training.losses import source_entropy

V = 6


@given(seed=seeds)
def test_a_certain_place_has_no_entropy_and_an_uncertain_one_has(seed):
    rng = np.random.default_rng(seed)
    assert source_entropy(jnp.eye(V)[rng.integers(V)]) == 0
    p = jnp.asarray(rng.dirichlet(np.ones(V)))
    assert 0 < source_entropy(p) < np.log(V)
    assert source_entropy(jnp.full(V, 1 / V)) == pytest.approx(np.log(V))


@given(seed=seeds)
def test_it_concentrates_a_source(seed):
    scores = jnp.asarray(np.random.default_rng(seed).normal(size=V))
    assert descent(of_scores, scores) == pytest.approx(1, abs=0.05)
    assert slope(scores)[np.argmax(scores)] < 0


def of_scores(scores):
    return source_entropy(source_weights(scores))


slope = jax.jit(jax.grad(of_scores))


@pytest.mark.parametrize("p", [jnp.zeros(V), jnp.eye(V)[0], jnp.full(V, 1e-30), -jnp.ones(V)])
def test_entropy_and_derivative_are_finite_everywhere(p):
    assert is_finite(source_entropy, p)

"""Presence and ratios: free where the answer is sure and right, dearer the worse it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from tests.training.losses.slopes import descent, is_finite
from unmixnet.training.losses import class_loss, mixture_loss

K = 5


def recipe(seed: int):
    """Ratios of a random mixture of two or three of K components."""
    rng = np.random.default_rng(seed)
    a = np.zeros(K)
    support = rng.choice(K, rng.integers(2, 4), replace=False)
    a[support] = rng.dirichlet(np.ones(len(support)))
    return jnp.asarray(a)


def sure(a, strength: float = 40.0):
    """Logits that say with conviction what is present."""
    return strength * jnp.where(a > 0, 1.0, -1.0)


@given(seed=seeds)
def test_a_sure_and_right_answer_costs_nothing(seed):
    a = recipe(seed)
    assert mixture_loss(sure(a), a, a) <= 1e-16


@given(seed=seeds)
def test_twin_a_wrong_presence_or_a_wrong_ratio_costs(seed):
    a = recipe(seed)
    assert mixture_loss(sure(a).at[0].multiply(-1), a, a) == pytest.approx(40 / K)
    assert mixture_loss(sure(a), a.at[0].add(0.1), a) == pytest.approx(0.1)


@given(seed=seeds)
def test_it_is_cross_entropy_and_absolute_error(seed):
    rng, a = np.random.default_rng(seed), recipe(seed)
    logits, a_hat = jnp.asarray(rng.normal(size=K)), jnp.asarray(rng.dirichlet(np.ones(K)))
    p, z = 1 / (1 + np.exp(-logits)), np.asarray(a > 0)
    expected = -np.mean(np.where(z, np.log(p), np.log(1 - p))) + np.sum(np.abs(a_hat - a))
    assert mixture_loss(logits, a_hat, a) == pytest.approx(expected)


@given(seed=seeds)
def test_it_pushes_logits_and_ratios_towards_the_truth(seed):
    rng, a = np.random.default_rng(seed), recipe(seed)
    logits, a_hat = jnp.asarray(rng.normal(size=K)), jnp.asarray(rng.dirichlet(np.ones(K)))
    by_logit, by_ratio = jax.grad(mixture_loss, (0, 1))(logits, a_hat, a)
    assert np.array_equal(by_logit < 0, a > 0)
    assert np.array_equal(by_ratio < 0, a_hat < a)
    assert descent(mixture_loss, logits, a_hat, a) > 0.5


def test_the_true_class_costs_nothing_and_every_other_something():
    a = jnp.eye(K)[2]
    assert abs(class_loss(a, a)) <= 2e-8
    assert class_loss(jnp.eye(K)[3], a) == pytest.approx(-np.log(1e-8))
    even = jnp.full(K, 1 / K)
    assert class_loss(even, a) == pytest.approx(np.log(K))
    assert descent(class_of_logits, jnp.zeros(K), a) > 0.9


def class_of_logits(logits, a):
    return class_loss(jax.nn.softmax(logits), a)


def test_a_class_that_was_excluded_is_pushed_back():
    a, other = jnp.eye(K)[2], jnp.eye(K)[3]
    assert jax.grad(class_loss)(other, a)[2] == pytest.approx(-1e8)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e15])
def test_losses_and_derivatives_are_finite_everywhere(size):
    signs = jnp.asarray([1.0, -1, 0, 1, -1])
    for a in (jnp.zeros(K), recipe(0), jnp.eye(K)[0]):
        assert is_finite(mixture_loss, size * signs, size * signs, a)
        assert is_finite(class_loss, size * signs, a)

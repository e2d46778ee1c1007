"""Mixtures made of recordings: loads add and signals do not; a session moves what all of them share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import seeds
from tests.model.tiny import quick_jit
from unmixnet.training.augmentation import combined, mixed_batch, with_session

T, M, B, K = 6, 2, 8, 3
AIR, SD, SIGN = jnp.asarray([-2.0, 3.0]), jnp.asarray([0.5, 2.0]), jnp.asarray([1.0, -1.0])
exponents = st.floats(0.2, 1.5)
mix = quick_jit(combined)


@quick_jit
def batch(Y, a, share, linear, n, key):
    return mixed_batch(Y, a, share=share, linear=linear, air=AIR, sd=SD, sign=SIGN, n=n, key=key)


def excess(seed: int) -> np.ndarray:
    """Signals over clean air of two recordings."""
    return np.random.default_rng(seed).uniform(0, 3, (2, T, M))


def made(seed: int, parts: np.ndarray, weights, n: float) -> np.ndarray:
    return np.asarray(mix(jnp.asarray(parts), jnp.asarray(weights, float), jnp.full(M, n)))


@given(seed=seeds, n=exponents, w=st.floats(0, 1))
def test_a_recording_mixed_with_itself_stays_itself(seed, n, w):
    one = excess(seed)[0]
    np.testing.assert_allclose(made(seed, np.stack([one, one]), [w, 1 - w], n), one, rtol=1e-9)


@given(seed=seeds, n=exponents)
def test_all_the_weight_on_one_recording_gives_that_recording_below_clean_air_too(seed, n):
    parts = excess(seed) - 1
    np.testing.assert_allclose(made(seed, parts, [1, 0], n), parts[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(made(seed, parts, [0, 1], n), parts[1], rtol=1e-9, atol=1e-12)


@given(seed=seeds, n=exponents, w=st.floats(0, 1))
def test_the_order_of_the_parts_does_not_matter(seed, n, w):
    parts = excess(seed) - 0.5
    np.testing.assert_allclose(made(seed, parts, [w, 1 - w], n), made(seed, parts[::-1], [1 - w, w], n), rtol=1e-9)


@given(seed=seeds, n=exponents, w=st.floats(0.05, 0.95))
def test_loads_add(seed, n, w):
    parts = excess(seed)
    load = np.expm1(parts / n)
    expected = n * np.log1p(w * load[0] + (1 - w) * load[1])
    np.testing.assert_allclose(made(seed, parts, [w, 1 - w], n), expected, rtol=1e-9)


@given(seed=seeds, n=exponents, w=st.floats(0.05, 0.95))
def test_a_mixture_lies_between_the_mean_of_the_signals_and_the_stronger_one(seed, n, w):
    # n ln Σ w e^{s/n} is a soft maximum: by Jensen above the mean, whatever n, and below the largest
    parts = excess(seed)
    found, mean = made(seed, parts, [w, 1 - w], n), w * parts[0] + (1 - w) * parts[1]
    assert np.all(found >= mean - 1e-9)
    assert np.all(found <= parts.max(axis=0) + 1e-9)


@given(seed=seeds, n=exponents)
def test_the_whole_of_two_recordings_gives_less_than_the_sum_of_their_signals(seed, n):
    parts = excess(seed)
    found = made(seed, parts, [1, 1], n)
    assert np.all(found <= parts.sum(axis=0) + 1e-9)
    assert np.all(found >= parts.max(axis=0) - 1e-9)


def test_twin_signals_that_are_averaged_are_below_a_mixture_and_meet_it_for_a_straight_sensor():
    parts = np.stack([np.full((T, M), 2.0), np.full((T, M), 0.1)])
    assert np.all(made(0, parts, [0.5, 0.5], 0.5) > 1.05 + 0.3)
    np.testing.assert_allclose(made(0, parts, [0.5, 0.5], 1e4), 1.05, rtol=1e-3)


def drawn_batch(seed: int) -> tuple[jax.Array, jax.Array]:
    """Standardised traces over clean air, and their ratios."""
    rng = np.random.default_rng(seed)
    Y = np.asarray(AIR) + np.asarray(SIGN) * rng.uniform(0, 2, (B, T, M))
    return jnp.asarray(Y), jnp.asarray(np.eye(K)[rng.integers(0, K, B)])


@pytest.mark.parametrize("linear", [True, False])
def test_a_mixed_batch_stays_on_the_simplex_between_its_parents(linear):
    Y, a = drawn_batch(0)
    mixed, label = batch(Y, a, 1.0, linear, 0.5, jax.random.key(1))
    np.testing.assert_allclose(np.sum(label, axis=1), 1, atol=1e-12)
    assert np.any((np.asarray(label) > 0.19) & (np.asarray(label) < 0.81))
    over = np.asarray(SIGN) * (np.asarray(mixed) - np.asarray(AIR))
    assert np.all(over >= -1e-12)
    assert np.all(over <= np.max(np.asarray(SIGN) * (np.asarray(Y) - np.asarray(AIR)), axis=0) + 1e-12)


def test_no_share_leaves_a_batch_alone():
    Y, a = drawn_batch(0)
    mixed, label = batch(Y, a, 0.0, False, 0.5, jax.random.key(1))
    np.testing.assert_array_equal(mixed, Y)
    np.testing.assert_array_equal(label, a)


def test_a_batch_of_one_recording_stays_that_recording():
    Y, a = drawn_batch(0)
    same = jnp.tile(Y[:1], (B, 1, 1)), jnp.tile(a[:1], (B, 1))
    for linear in (True, False):
        mixed, label = batch(*same, 1.0, linear, 0.5, jax.random.key(2))
        np.testing.assert_allclose(mixed, same[0], rtol=1e-9)
        np.testing.assert_allclose(label, same[1], rtol=1e-12)


def test_a_session_without_gain_and_offset_is_the_one_that_was_recorded():
    Y = drawn_batch(0)[0][0]
    np.testing.assert_allclose(with_session(Y, AIR, 0.0, 0.0, jax.random.key(0)), Y, rtol=1e-12)


def test_a_gain_leaves_clean_air_where_it_is_and_an_offset_keeps_every_difference():
    Y, key = drawn_batch(0)[0][0], jax.random.key(3)
    still = with_session(jnp.tile(AIR, (T, 1)), AIR, 0.5, 0.0, key)
    np.testing.assert_allclose(still, np.tile(AIR, (T, 1)), rtol=1e-12)
    np.testing.assert_allclose(
        np.diff(with_session(Y, AIR, 0.0, 2.0, key), axis=0), np.diff(Y, axis=0), rtol=1e-9, atol=1e-12
    )
    gained = with_session(Y, AIR, 0.5, 0.0, key)
    factor = np.asarray(gained - AIR) / np.asarray(Y - AIR)
    np.testing.assert_allclose(factor, np.tile(factor[0], (T, 1)), rtol=1e-9)
    assert np.all(np.abs(factor[0] - 1) > 1e-3)

"""Incoherence: least for fingerprints that differ, most for those that do not, and it pulls them apart."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from tests.training.losses.slopes import descent, is_finite
from unmixnet.training.losses import incoherence_loss

K, P = 4, 30
LOSSES = {"centred": incoherence_loss, "raw": partial(incoherence_loss, centre=False)}
both = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def prints(seed: int):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(K, P)))


def orthogonal(seed: int):
    return jnp.linalg.qr(prints(seed).T)[0].T


def common(seed: int, size: float = 20.0):
    return size * jnp.asarray(np.random.default_rng(seed + 7).uniform(0.5, 1, P))


@given(seed=seeds)
def test_orthogonal_responses_are_the_least_coherent(seed):
    H = 3 * orthogonal(seed)
    assert incoherence_loss(H, centre=False) <= 1e-30
    assert incoherence_loss(H) == pytest.approx(1 / (K - 1) ** 2)


@given(seed=seeds)
def test_no_centred_fingerprints_are_below_the_bound(seed):
    assert incoherence_loss(prints(seed)) >= 1 / (K - 1) ** 2


@given(seed=seeds)
def test_a_common_mode_is_removed_before_comparing(seed):
    H = prints(seed)
    assert incoherence_loss(H + common(seed)) == pytest.approx(float(incoherence_loss(H)), rel=1e-9)


@given(seed=seeds)
def test_twin_as_they_are_fingerprints_with_a_common_mode_are_nearly_parallel(seed):
    assert incoherence_loss(prints(seed) + common(seed), centre=False) > 0.95


@given(seed=seeds)
def test_it_is_the_mean_square_of_the_cosines_and_knows_no_size(seed):
    H = prints(seed)
    cosines = np.corrcoef(np.vstack([H, -H]))  # rows that are centred over P
    H = jnp.asarray(np.asarray(H) - np.asarray(H).mean(axis=1, keepdims=True))
    expected = np.mean(cosines[:K, :K][np.triu_indices(K, 1)] ** 2)
    assert incoherence_loss(H, centre=False) == pytest.approx(expected)
    sizes = jnp.asarray([1e-3, 1.0, 50.0, 1e9])[:, None]
    assert incoherence_loss(sizes * H, centre=False) == pytest.approx(expected)


@given(seed=seeds)
def test_two_components_are_compared_as_they_are(seed):
    H = prints(seed)[:2]
    assert incoherence_loss(H) == incoherence_loss(H, centre=False) < 1


@both
@given(seed=seeds)
def test_it_pulls_fingerprints_apart(loss, seed):
    H = prints(seed) + common(seed, 1.0)
    assert descent(loss, H, share=1e-4) == pytest.approx(1, abs=0.05)


def test_it_turns_the_two_that_look_alike():
    H = orthogonal(0)
    alike = H.at[1].set(H[0] + 0.2 * H[1])
    slope = jax.grad(lambda H: incoherence_loss(H, centre=False))(alike)
    assert jnp.sum(slope[1] * H[0]) > 1e-3
    assert np.max(np.abs(slope[2:])) <= 1e-12


@both
def test_a_component_without_a_trace_is_confused_with_all_others(loss):
    silent = jnp.zeros((K, P))
    assert loss(silent) == 1
    assert loss(jnp.broadcast_to(prints(0)[0], (K, P))) == pytest.approx(1)


@both
@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e15])
def test_loss_and_derivatives_are_finite_everywhere(loss, size):
    rows = prints(0).at[1].set(0)
    equal = jnp.broadcast_to(rows[:1], (K, P))
    for H in (size * rows, size * equal, size * rows[:1], size * rows[:2]):
        assert is_finite(loss, H)

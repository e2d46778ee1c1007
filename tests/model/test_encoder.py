"""Encoder: any number of sensors and species with the same weights, and their order does not matter."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import float32, seeds
from unmixnet.model.encoder import Encoder, gated_ratios
from unmixnet.model.settings import Settings, shape_of
from unmixnet.simulation.builders import portable_enose

from .tiny import SETTINGS, K, M, T, filled, finite, largest, quick_jit, shapes

ENCODER = filled(eqx.filter_eval_shape(lambda: Encoder.of(SETTINGS, M, jax.random.key(0))))
P = shape_of(SETTINGS.size).embedding
KEYS = jax.random.split(jax.random.key(0, impl="unsafe_rbg"), 8)


@quick_jit
def read(encoder, Y, r, mat, e):
    return encoder(Y, r, mat, e)


@quick_jit
@eqx.filter_grad
def slopes(both, r, mat, e):
    encoder, Y = both
    return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(encoder(Y, r, mat, e)))


@quick_jit
def dropped(encoder, Y, r, mat, e, keys):
    return jax.vmap(lambda key: encoder(Y, r, mat, e, key=key).a)(keys)


def given_to(seed: int = 0, M: int = M, K: int = K) -> tuple:
    """A window, embeddings of species and materials, conditions."""
    rng = np.random.default_rng(seed)
    Y = np.cumsum(rng.normal(size=(T, M)), axis=0) + rng.normal(size=M)
    return tuple(map(jnp.asarray, (Y, rng.normal(size=(K, P)), rng.normal(size=(M, P)), rng.normal(size=2))))


@pytest.mark.parametrize(("M", "K"), [(1, 2), (4, 12), (16, 50)])
def test_the_same_weights_read_any_number_of_sensors_and_species(M, K):
    answer = read(ENCODER, *given_to(M=M, K=K))
    assert answer.a.shape == answer.z.shape == (K,)
    assert answer.h_m.shape[0] == M
    assert finite(answer)
    assert float(jnp.sum(answer.a)) == pytest.approx(1, abs=1e-12)
    assert np.ptp(answer.a) > 1e-4


@pytest.mark.parametrize(("size", "least", "most"), [("small", 1e5, 3e5), ("paper", 2e6, 4e6)])
def test_the_dial_sets_the_number_of_parameters(size, least, most):
    leaves = jax.tree.leaves(shapes(Settings(size=size), portable_enose(), K=12))
    assert least <= sum(leaf.size for leaf in leaves if isinstance(leaf, jax.ShapeDtypeStruct)) <= most


@given(seed=seeds)
def test_ratios_lie_on_the_simplex_and_presence_between_zero_and_one(seed):
    answer = read(ENCODER, *given_to(seed))
    assert np.all(answer.a >= 0)
    assert float(jnp.sum(answer.a)) == pytest.approx(1, abs=1e-12)
    assert np.all((answer.z > 0) & (answer.z < 1))
    assert abs(float(answer.log_strength)) < 2
    assert 0 < float(answer.exposure) < 1


@given(seed=seeds)
def test_sensors_have_no_order(seed):
    Y, r, mat, e = given_to(seed)
    one, other = read(ENCODER, Y, r, mat, e), read(ENCODER, Y[:, ::-1], r, mat[::-1], e)
    np.testing.assert_allclose(other.h_m, one.h_m[::-1], atol=1e-10)
    swapped = eqx.tree_at(lambda a: a.h_m, other, one.h_m)
    assert eqx.tree_equal(one, swapped, rtol=1e-9, atol=1e-10)


def test_twin_a_sensor_without_its_material_is_another_sensor():
    Y, r, mat, e = given_to()
    one, other = read(ENCODER, Y, r, mat, e), read(ENCODER, Y[:, ::-1], r, mat, e)
    assert np.max(np.abs(one.a - other.a)) > 1e-4


@given(seed=seeds)
def test_permuting_the_species_permutes_the_answer(seed):
    Y, r, mat, e = given_to(seed)
    order = np.random.default_rng(seed).permutation(K)
    one, other = read(ENCODER, Y, r, mat, e), read(ENCODER, Y, r[order], mat, e)
    np.testing.assert_allclose(other.a, one.a[order], atol=1e-10)
    np.testing.assert_allclose(other.z_logits, one.z_logits[order], atol=1e-9)
    np.testing.assert_allclose(other.h_Y, one.h_Y, atol=1e-12)


def test_the_trace_its_level_the_material_and_the_conditions_all_count():
    Y, r, mat, e = given_to()
    here = read(ENCODER, Y, r, mat, e).a
    for moved in ((Y[::-1], r, mat, e), (Y + 1, r, mat, e), (Y, r + 1, mat, e), (Y, r, mat + 1, e), (Y, r, mat, e + 1)):
        assert np.max(np.abs(read(ENCODER, *moved).a - here)) > 1e-5


@pytest.mark.parametrize("level", [0.0, 1.0, 1e6, -1e6])
def test_a_trace_that_says_nothing_or_far_too_much_gives_numbers_in_single_precision(level):
    encoder, rest = float32((ENCODER, given_to()[1:]))
    for Y in (jnp.full((T, M), level, jnp.float32), jnp.float32(level) * float32(given_to(1)[0])):
        answer = read(encoder, Y, *rest)
        assert answer.a.dtype == jnp.float32
        assert finite(answer)
        assert finite(slopes((encoder, Y), *rest))


IDLE = ["[0].trunk.pool.bias"]
"""A softmax does not see it; stored bundles hold it."""


def test_every_weight_matters():
    found = slopes(*float32(((ENCODER, given_to()[0]), *given_to()[1:])))
    # the smallest of the others is .02; how a sum of zero rounds depends on the processor
    deaf = [
        jax.tree_util.keystr(path) for path, leaf in jax.tree_util.tree_leaves_with_path(found) if largest(leaf) < 1e-4
    ]
    assert deaf == IDLE


def test_without_a_key_the_answer_is_deterministic_and_with_one_it_is_drawn():
    arguments = given_to()
    assert eqx.tree_equal(read(ENCODER, *arguments), read(ENCODER, *arguments))
    drawn = dropped(ENCODER, *arguments, KEYS)
    assert np.min(np.ptp(drawn, axis=0)) > 0
    np.testing.assert_array_equal(drawn, dropped(ENCODER, *arguments, KEYS))


@settings(max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2 * K, max_size=2 * K))
def test_the_gate_is_presence_times_preference_over_its_sum(logits):
    z_logits, o = np.array(logits[:K]), np.array(logits[K:])
    found = np.asarray(gated_ratios(jnp.asarray(z_logits), jnp.asarray(o)))
    weights = o - np.logaddexp(0, -z_logits)
    expected = np.exp(weights - weights.max())
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9, atol=1e-300)


def test_a_substance_that_is_not_there_has_no_share():
    a = gated_ratios(jnp.asarray([5.0, -800.0, 5.0]), jnp.asarray([0.0, 20.0, 0.0]))
    np.testing.assert_allclose(a, [0.5, 0, 0.5], atol=1e-12)

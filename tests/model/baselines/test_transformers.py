"""Sensors are exchangeable for iTransformer, time has its code in ScentFormer, key biases are dead."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.model.baselines.interface import EncoderLayer, attention
from unmixnet.model.baselines.itransformer import ITransformer
from unmixnet.model.baselines.scentformer import positions

from .cases import M, answers, model, quick_jit, windows

ORDER = np.array([2, 0, 3, 1])


def test_sensor_tokens_follow_a_permutation_of_the_sensors():
    net, Y = model("itransformer"), windows()[0]
    assert isinstance(net, ITransformer)
    tokens = quick_jit(net.tokens)
    np.testing.assert_allclose(tokens(Y[:, ORDER]), tokens(Y)[ORDER], rtol=1e-9, atol=1e-9)
    assert np.max(np.abs(tokens(Y)[ORDER] - tokens(Y))) > 1e-2
    # Twin: the head flattens the tokens in their order, so the answer is not blind to which sensor is which.
    permuted, straight = answers(net, windows()[..., ORDER]), answers(net, windows())
    assert np.min(np.max(np.abs(permuted.logits - straight.logits), axis=1)) > 1e-3
    # And every token sees the other sensors.
    assert np.max(np.abs(tokens(Y.at[:, 0].add(1.0))[1:] - tokens(Y)[1:])) > 1e-3
    assert tokens(Y).shape[0] == M


def test_position_code_is_sine_and_cosine_of_falling_frequency():
    P = positions(50, 8)
    np.testing.assert_allclose(P[0], [0, 1] * 4)
    np.testing.assert_allclose(P[7, :4], [np.sin(7), np.cos(7), np.sin(0.7), np.cos(0.7)], rtol=1e-12)
    np.testing.assert_allclose(P[7, 6:], [np.sin(0.007), np.cos(0.007)], rtol=1e-12)


def test_a_key_bias_would_change_nothing():
    @quick_jit
    def shifted(bias):
        biased = eqx.nn.MultiheadAttention(2, 8, use_key_bias=True, key=jax.random.key(0))
        X = jax.random.normal(jax.random.key(1), (5, 8))
        return eqx.tree_at(lambda a: a.key_proj.bias, biased, bias)(X, X, X)

    np.testing.assert_allclose(shifted(jnp.arange(8.0)), shifted(jnp.zeros(8)), rtol=1e-11, atol=1e-12)


def test_attention_has_every_bias_but_that_of_the_keys():
    ours = eqx.filter_eval_shape(lambda key: attention(8, 2, 0.1, key), jax.random.key(0))
    biased = [p.bias is not None for p in (ours.query_proj, ours.key_proj, ours.value_proj, ours.output_proj)]
    assert biased == [True, False, True, True]


@pytest.mark.parametrize("pre_norm", [True, False])
def test_post_norm_ends_normalised_and_pre_norm_keeps_a_straight_path(pre_norm):
    build = partial(EncoderLayer, 8, 2, 16, rate=0.1, pre_norm=pre_norm)
    layer = quick_jit(lambda X: build(key=jax.random.key(0))(X))
    X = jnp.asarray(np.random.default_rng(0).normal(30, 100, (5, 8)))
    Z = layer(X)
    if pre_norm:
        assert np.max(np.abs(Z - X)) < 10  # what the layer adds does not grow with X
        np.testing.assert_allclose(layer(100 * X) - 100 * X, Z - X, rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_allclose(Z.mean(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(Z.std(axis=1), 1, rtol=1e-3)

"""Laws that hold for every baseline."""

from typing import get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.model.baselines import BASELINES, Size

from .cases import BATCH, NAMES, K, M, T, batch_answer, drawn_answer, first_answer, model, shapes


@pytest.mark.parametrize("window", [(100, 6, 50), (60, 4, 12)])
@pytest.mark.parametrize("size", get_args(Size))
@pytest.mark.parametrize("name", NAMES)
def test_output_has_k_logits_and_one_hidden_state_per_step(name, size, window):
    T, M, K = window
    output = eqx.filter_eval_shape(shapes(name, size, T, M, K), jax.ShapeDtypeStruct((T, M), jnp.float64))
    assert output.logits.shape == (K,)
    assert output.hidden.ndim == 2
    assert output.hidden.shape[0] == T


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", NAMES)
def test_precision_of_the_parameters_is_kept(name, dtype):
    def cast(leaf):
        return jax.ShapeDtypeStruct(leaf.shape, dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf

    cast_model = jax.tree.map(cast, shapes(name, "small", T, M, K))
    for key in (None, jax.random.key(0)):
        output = eqx.filter_eval_shape(cast_model, jax.ShapeDtypeStruct((T, M), dtype), key=key)
        assert output.logits.dtype == output.hidden.dtype == dtype


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_moves_the_loss(name):
    _, gradient = first_answer(name)
    paths = jax.tree_util.tree_leaves_with_path(eqx.filter(gradient, eqx.is_inexact_array))
    assert len(paths) == len(jax.tree.leaves(eqx.filter(model(name), eqx.is_inexact_array)))
    for path, leaf in paths:
        where = jax.tree_util.keystr(path)
        assert np.all(np.isfinite(leaf)), where
        assert np.max(np.abs(leaf)) > 1e-10, where


@pytest.mark.parametrize("name", NAMES)
def test_batch_equals_one_by_one(name):
    many, (one, _) = batch_answer(name), first_answer(name)
    assert many.logits.shape == (BATCH, K)
    assert many.hidden.shape[:2] == (BATCH, T)
    np.testing.assert_allclose(many.logits[0], one.logits, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(many.hidden[0], one.hidden, rtol=1e-9, atol=1e-9)
    assert np.max(np.abs(many.logits[0] - many.logits[1])) > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_drawn_by_the_key_and_absent_without(name):
    a, b = (drawn_answer(model(name), jax.random.key(seed)).logits for seed in (0, 1))
    again = drawn_answer(model(name), jax.random.key(0)).logits
    still, (alone, _) = batch_answer(name).logits[0], first_answer(name)
    np.testing.assert_array_equal(a, again)
    assert np.max(np.abs(a - b)) > 1e-6
    assert np.max(np.abs(a - still)) > 1e-6
    np.testing.assert_allclose(still, alone.logits, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_mlp_is_blind_to_the_order_of_time(name):
    apart = np.max(np.abs(batch_answer(name).logits - batch_answer(name, shuffled=True).logits))
    if name == "mlp":
        assert apart < 1e-12
    else:
        assert apart > 1e-3


@pytest.mark.parametrize("name", ["mlp", "itransformer"])
def test_hidden_state_is_repeated_where_time_is_gone(name):
    hidden = batch_answer(name).hidden
    assert np.all(hidden == hidden[:, :1])


@pytest.mark.parametrize("name", ["cnn-lstm", "scentformer", "adr-gnn", "ldac"])
def test_hidden_state_moves_with_time(name):
    hidden = batch_answer(name).hidden
    assert np.max(np.abs(hidden[:, 0] - hidden[:, -1])) > 1e-3


@pytest.mark.parametrize(("name", "shortest"), [("mlp", 1), ("cnn-lstm", 4), ("adr-gnn", 2), ("ldac", 2)])
def test_shortest_window_works_and_shorter_ones_are_refused(name, shortest):
    window = jax.ShapeDtypeStruct((shortest, M), jnp.float64)
    assert eqx.filter_eval_shape(shapes(name, "small", shortest, M, K), window).hidden.shape[0] == shortest
    with pytest.raises(ConfigError, match=f"a window of {shortest - 1} steps"):
        BASELINES[name].of(shortest - 1, M, K, size="small", key=jax.random.key(0))

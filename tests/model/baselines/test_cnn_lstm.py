"""The hidden state covers the whole window and the LSTM obeys its recurrence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.model.baselines.cnn_lstm import CNNLSTM, ConvBlock

from .cases import T, batch_answer, model, quick_jit


def test_every_state_is_held_over_the_four_steps_that_it_covers():
    hidden = batch_answer("cnn-lstm").hidden[0].reshape(T // 4, 4, -1)
    assert np.all(hidden == hidden[:, :1])
    assert np.all(np.any(hidden[1:, 0] != hidden[:-1, 0], axis=1))


def test_logits_read_the_last_state():
    answer, net = batch_answer("cnn-lstm"), model("cnn-lstm")
    assert isinstance(net, CNNLSTM)
    dense = jax.vmap(lambda h: net.W_2(jax.nn.relu(net.W_1(h))))(answer.hidden[:, -1])
    np.testing.assert_allclose(dense, answer.logits, rtol=1e-9, atol=1e-9)


def test_a_state_depends_on_the_past_only():
    net = model("cnn-lstm")
    assert isinstance(net, CNNLSTM)
    X = jnp.asarray(np.random.default_rng(0).normal(size=(9, net.cell.input_size)))
    run = quick_jit(net.states)
    states, changed = run(X), run(X.at[6].add(1.0))
    np.testing.assert_array_equal(states[:6], changed[:6])
    assert np.all(np.max(np.abs(states[6:] - changed[6:]), axis=1) > 1e-4)


def test_pooling_drops_an_odd_last_step():
    shape = jax.ShapeDtypeStruct((11, 4), jnp.float64)
    assert eqx.filter_eval_shape(lambda X: ConvBlock(4, 8, key=jax.random.key(0))(X), shape).shape == (5, 8)

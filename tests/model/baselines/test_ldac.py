"""The window-statistic norm starts as instance norm, lag differences start at zero, skipping is all or nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.model.baselines.interface import skip
from unmixnet.model.baselines.ldac import KERNEL, LAGS, LDAC, Depthwise, LagBank, WindowNorm

from .cases import M, model, quick_jit, windows


@pytest.fixture(scope="module")
def Y():
    return windows()[0]


@pytest.fixture(scope="module")
def norm():
    return quick_jit(lambda key: WindowNorm(M, key=key))(jax.random.key(0))


@pytest.fixture(scope="module")
def bank():
    return quick_jit(lambda key: LagBank(M, 32, LAGS, key=key))(jax.random.key(0))


def test_norm_starts_as_exact_instance_norm(norm, Y):
    instance = (Y - Y.mean(axis=0)) / Y.std(axis=0, ddof=1)
    np.testing.assert_allclose(quick_jit(norm)(Y), instance, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(quick_jit(norm)(5 * Y + 3), instance, rtol=1e-9, atol=1e-12)


def test_moved_norm_sees_level_and_amplitude(Y):
    net = model("ldac")
    assert isinstance(net, LDAC)
    moved = quick_jit(net.norm)
    for other in (Y + 3, 5 * Y):
        assert np.max(np.abs(moved(other) - moved(Y))) > 1e-3


def test_sensor_that_stands_still_gives_zero_and_a_finite_gradient(norm, Y):
    still = Y.at[:, 1].set(7.0)
    np.testing.assert_array_equal(quick_jit(norm)(still)[:, 1], 0)
    gradient = quick_jit(jax.grad(lambda y: jnp.sum(jnp.sin(norm(y)))))(still)
    assert np.all(np.isfinite(gradient))


def test_lag_differences_are_zero_until_their_lag_and_exact_after(bank, Y):
    assert bank.lags == (5, 10, 25, 50)
    for p, d in zip(LAGS, bank.differences(Y), strict=True):
        np.testing.assert_array_equal(d[:p], 0)
        np.testing.assert_array_equal(d[p:], Y[p:] - Y[:-p])
        assert np.max(np.abs(d[p:])) > 0.1


def test_lag_weights_scale_each_sensor_and_lag(bank, Y):
    weighted = eqx.tree_at(lambda b: b.w, bank, bank.w.at[2, 1].set(-3.0))
    ratio = weighted.differences(Y)[2, 30] / bank.differences(Y)[2, 30]
    np.testing.assert_allclose(ratio, [1, -3, 1, 1], rtol=1e-12)


@pytest.mark.parametrize(("T", "kept"), [(60, LAGS), (50, (5, 10, 25)), (5, ())])
def test_lags_not_shorter_than_the_window_are_left_out(T, kept):
    net = eqx.filter_eval_shape(lambda key: LDAC.of(T, M, 12, size="small", key=key), jax.random.key(0))
    assert net.bank.lags == kept
    assert eqx.filter_eval_shape(net, jax.ShapeDtypeStruct((T, M), jnp.float64)).logits.shape == (12,)


def test_depthwise_is_the_grouped_convolution():
    d, T = 6, 20

    @quick_jit
    def both(X):
        ours = Depthwise(d, KERNEL, key=jax.random.key(0))
        theirs = eqx.nn.Conv1d(d, d, KERNEL, padding="SAME", groups=d, key=jax.random.key(1))
        same = eqx.tree_at(lambda c: (c.weight, c.bias), theirs, (ours.w.T[:, None], ours.b[:, None]))
        return ours(X), same(X.T).T

    ours, theirs = both(jnp.asarray(np.random.default_rng(0).normal(size=(T, d))))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_later_blocks_are_skipped_more_often():
    net = model("ldac")
    assert isinstance(net, LDAC)
    np.testing.assert_allclose([block.skip for block in net.blocks], [0.1 / 3, 0.2 / 3, 0.1])


def test_a_block_is_skipped_whole_with_its_probability_and_never_without_a_key():
    before, after = jnp.zeros(3), jnp.ones(3)
    keys = jax.random.split(jax.random.key(0), 1000)
    drawn = quick_jit(jax.vmap(lambda key: skip(before, after, 0.3, key)))(keys)
    assert np.all(drawn == drawn[:, :1])
    assert abs(np.mean(drawn[:, 0] == 0) - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 1000)
    np.testing.assert_array_equal(skip(before, after, 0.3, None), after)

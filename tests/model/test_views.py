"""Views: the low-pass keeps the level, the high-passes do not see it, none of them sees the future."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from unmixnet.model.trunk import LAGS_S, Views

from .tiny import quick_jit

RATE_HZ, ROWS = 2.0, 30
START = Views.of(RATE_HZ)


@quick_jit
def seen(views, y):
    return views(y)


def drawn(seed: int) -> tuple[Views, np.ndarray]:
    """Filters with any weights, and a trace."""
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(-1, 1)
    low, high = size * rng.normal(size=START.W_LP.shape), size * rng.normal(size=START.W_HP.shape)
    return Views(jnp.asarray(low), jnp.asarray(high)), rng.normal(size=ROWS)


@given(seed=seeds)
def test_the_low_pass_keeps_a_level_and_the_high_passes_are_blind_to_it(seed):
    views, y = drawn(seed)
    level = 100 * y[0]
    itself, low, *high = np.asarray(seen(views, jnp.full(ROWS, level))).T
    np.testing.assert_array_equal(itself, level)
    np.testing.assert_allclose(low, level, rtol=1e-13)
    np.testing.assert_allclose(high, 0, atol=1e-11 * abs(level) * (1 + float(jnp.max(jnp.abs(views.W_HP)))))


@given(seed=seeds)
def test_the_low_pass_is_a_mean_and_stays_within_the_trace(seed):
    views, y = drawn(seed)
    low = np.asarray(seen(views, jnp.asarray(y)))[:, 1]
    assert np.all((low >= y.min() - 1e-12) & (low <= y.max() + 1e-12))


@given(seed=seeds)
def test_a_later_sample_changes_no_earlier_view(seed):
    views, y = drawn(seed)
    now = seed % (ROWS - 1)
    other = np.where(np.arange(ROWS) > now, y + 7, y)
    before, after = (np.asarray(seen(views, jnp.asarray(trace))) for trace in (y, other))
    np.testing.assert_array_equal(before[: now + 1], after[: now + 1])
    assert np.any(before[now + 1 :] != after[now + 1 :])


def test_twin_weights_without_their_mean_taken_off_would_see_the_level():
    views, _ = drawn(0)
    assert np.max(np.abs(np.sum(views.W_HP, axis=1))) > 0.1


@pytest.mark.parametrize("view", range(len(LAGS_S)))
def test_the_high_passes_start_as_differences_over_their_lags(view):
    y = np.random.default_rng(0).normal(size=ROWS)
    lag = round(LAGS_S[view] * RATE_HZ)
    np.testing.assert_allclose(np.asarray(seen(START, jnp.asarray(y)))[lag:, 2 + view], y[lag:] - y[:-lag], atol=1e-12)


def test_a_slow_rate_has_the_same_views():
    views = Views.of(0.1)
    assert views.count == START.count
    assert eqx.filter_eval_shape(views, jnp.zeros(ROWS)).shape == (ROWS, views.count)

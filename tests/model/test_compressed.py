"""Compressed views: odd, faithful to small values, logarithmic for large ones, blind to the future."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from cases import seeds
from unmixnet.model.compressed import Compressed

from .tiny import quick_jit

ROWS = 60
VIEWS = Compressed.of(1.0)


@quick_jit
def seen(y):
    return VIEWS(y)


def trace(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 10 ** rng.uniform(-3, 3) * rng.normal(size=ROWS)


@given(seed=seeds)
def test_views_are_odd_and_changes_do_not_see_the_level(seed):
    y = trace(seed)
    np.testing.assert_allclose(seen(-y), -np.asarray(seen(y)), rtol=1e-12)
    shifted = np.asarray(seen(y + np.ptp(y)))[:, 1:]
    np.testing.assert_allclose(shifted, np.asarray(seen(y))[:, 1:], rtol=1e-6, atol=1e-9)


@given(seed=seeds)
def test_no_view_sees_the_future(seed):
    y = trace(seed)
    bent = np.where(np.arange(ROWS) < 40, y, 7.0)
    np.testing.assert_array_equal(np.asarray(seen(y))[:40], np.asarray(seen(bent))[:40])


def test_small_changes_pass_and_large_ones_are_seen_in_decades():
    step = lambda size: np.where(np.arange(ROWS) < 30, 0.0, size)  # noqa: E731
    small = np.asarray(seen(step(1e-5)))[30]
    np.testing.assert_allclose(small, 16e-5, rtol=1e-6)
    decade = np.asarray(seen(step(1e4)))[30] - np.asarray(seen(step(1e3)))[30]
    np.testing.assert_allclose(decade, np.log(10), rtol=1e-6)


def test_twin_without_compression_a_large_change_hides_the_small_ones():
    y = np.where(np.arange(ROWS) < 30, 0.01 * np.sin(np.arange(ROWS)), 100.0)
    share = lambda x: np.std(x[:30]) / np.std(x)  # noqa: E731
    assert share(y) < 1e-3 < 10 * share(np.asarray(seen(y))[:, 0])


@pytest.mark.parametrize(("rate_Hz", "lags"), [(1.0, (0, 1, 5, 25)), (2.0, (0, 2, 10, 50)), (0.1, (0, 1, 1, 2))])
def test_lags_are_seconds_at_any_rate(rate_Hz, lags):
    assert Compressed.of(rate_Hz).lags == lags
    assert jnp.asarray(Compressed.of(rate_Hz)(jnp.zeros(ROWS))).shape == (ROWS, len(lags))

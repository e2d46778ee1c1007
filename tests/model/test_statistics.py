"""Statistics of a window: blind to when, in units of the sensors at hand, and never NaN."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import float32
from unmixnet.model.encoder import Encoder
from unmixnet.model.statistics import N_STATISTICS, Statistics

from .tiny import SETTINGS, filled, finite, largest, quick_jit

M, T = 3, 120
READER = Statistics.of(8, M, 1.0, jax.random.key(0))
LEVEL = np.arange(N_STATISTICS).reshape(-1, 6)[0]
"""Mean, deviation, least, most, last value and logarithmic deviation of the level."""
TIMELESS = LEVEL[[0, 1, 2, 3, 5]]


@quick_jit
def found(reader, Y):
    return reader.statistics(Y)


@quick_jit
def fitted(reader, windows, air):
    return reader.fitted(windows, air)


def window(seed: int = 0) -> jax.Array:
    rng = np.random.default_rng(seed)
    return jnp.asarray(np.cumsum(rng.normal(size=(T, M)), axis=0) * [1.0, 10.0, 0.1])


def test_statistics_of_the_level_do_not_know_when():
    order = np.random.default_rng(0).permutation(T)
    np.testing.assert_allclose(found(READER, window()[order])[:, TIMELESS], found(READER, window())[:, TIMELESS])


def test_twin_changes_do():
    turned = found(READER, window()[::-1])
    assert np.max(np.abs(turned - found(READER, window()))[:, LEVEL[-1] + 1 :]) > 0.1


def test_training_windows_stand_at_zero_with_a_deviation_of_one():
    windows = jnp.stack([window(seed) for seed in range(6)])
    reader = fitted(READER, windows, jnp.zeros(M))
    units = (jax.vmap(lambda Y: found(reader, Y))(windows) - reader.mu) / reader.sigma
    np.testing.assert_allclose(np.mean(units, axis=0), 0, atol=1e-12)
    told = np.std(units, axis=0)
    assert np.all(np.isclose(told, 1) | (told < 1e-12))
    plain = jax.vmap(lambda Y: found(READER, Y))(windows)
    assert np.max(np.abs(np.mean(plain, axis=0))) > 1, "twin: before, they do not"


def test_ten_times_the_changes_are_ln_10_more_however_small_they_are():
    """The twin compresses first: small changes stay proportional, and are lost beside loud ones."""
    still, loud = (np.asarray(found(READER, scale * window())).reshape(M, -1, 6)[:, 1:] for scale in (0.01, 0.1))
    np.testing.assert_allclose((loud - still)[..., 5], np.log(10), rtol=1e-2)
    assert np.max((loud - still)[..., 1]) < 0.9 * np.log(10)


def test_levels_count_from_clean_air():
    here, there = (fitted(READER, window()[None], jnp.full(M, air)) for air in (0.0, 5.0))
    np.testing.assert_allclose(found(there, window() + 5), found(here, window()), atol=1e-9)
    assert np.max(np.abs(found(here, window() + 5) - found(here, window()))) > 0.1


@pytest.mark.parametrize("level", [0.0, 1.0, 1e6, -1e6])
def test_a_trace_that_says_nothing_or_far_too_much_gives_numbers_in_single_precision(level):
    reader, Y = float32((READER, jnp.full((T, M), level)))
    assert finite(reader(Y))
    assert finite(eqx.filter_grad(lambda both: jnp.sum(both[0](both[1])))((reader, Y)))


def test_every_weight_of_an_encoder_that_reads_statistics_matters():
    settings = replace(SETTINGS, reading="statistics")
    encoder = filled(eqx.filter_eval_shape(lambda: Encoder.of(settings, M, jax.random.key(0))))
    rng = np.random.default_rng(0)
    r, mat, e = (jnp.asarray(rng.normal(size=shape)) for shape in ((4, 16), (M, 16), (2,)))

    @quick_jit
    @eqx.filter_grad
    def slopes(encoder):
        return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(encoder(window(), r, mat, e)))

    found = jax.tree_util.tree_leaves_with_path(slopes(encoder))
    taken = [f".trunk.{name}" for name in ("air", "mu", "sigma")]  # from the training windows, not by slopes
    assert [jax.tree_util.keystr(path) for path, leaf in found if largest(leaf) < 1e-12] == taken

"""Modulation: bounded by e^{±s} whatever is learned, and one where it starts and where s = 0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import seeds
from unmixnet.errors import ConfigError
from unmixnet.model.layers import Modulation, from_zero
from unmixnet.model.settings import Settings

from .tiny import filled, quick_jit

WIDTH, OUT = 8, 3
SHAPE = jax.eval_shape(lambda: Modulation.of(WIDTH, OUT, 0.3, jax.random.key(0)))


@quick_jit
def factors(f, strength, h):
    return jnp.exp(strength * jnp.tanh(h @ f.weight.T + f.bias)), Modulation(f, 0.3)(h), Modulation(f, 0.0)(h)


@given(seed=seeds, size=st.floats(1e-3, 1e6))
def test_no_weights_and_no_sample_go_beyond_the_bound(seed, size):
    h = size * np.random.default_rng(seed).normal(size=(5, WIDTH))
    expected, bounded, off = factors(filled(SHAPE.f, seed, size), 0.3, jnp.asarray(h))
    np.testing.assert_allclose(bounded, expected, rtol=1e-12)
    assert np.all((bounded >= np.exp(-0.3) - 1e-12) & (bounded <= np.exp(0.3) + 1e-12))
    np.testing.assert_array_equal(off, 1)


def test_twin_a_bound_is_reached_and_a_weaker_one_would_be_broken():
    _, bounded, _ = factors(filled(SHAPE.f, 0, 1e3), 0.3, jnp.ones((5, WIDTH)))
    assert np.max(np.abs(np.log(bounded))) > 0.29


def test_it_starts_at_factors_of_one():
    start = from_zero(filled(SHAPE.f))
    np.testing.assert_array_equal(factors(start, 0.3, jnp.ones((5, WIDTH)))[1], 1)


@pytest.mark.parametrize("strength", [-0.1, 2.5])
def test_a_strength_that_bounds_nothing_is_refused(strength):
    with pytest.raises(ConfigError, match="expected 0 to 2"):
        Settings(modulation=strength)


@pytest.mark.parametrize("step_s", [0.3, 0.75, 0.1])
def test_a_step_between_two_samples_is_refused_with_one_that_fits(step_s):
    with pytest.raises(ConfigError, match="multiple of the sampling interval") as refused:
        Settings(rate_Hz=2.0, step_s=step_s)
    Settings(rate_Hz=2.0, step_s=float(refused.value.remedy.removeprefix("Use ")))

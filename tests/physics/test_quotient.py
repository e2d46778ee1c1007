"""A quotient of traces: the value of a division, and a derivative that single precision can hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.physics.quotient import quotient

sizes = st.floats(-28, 3).map(lambda power: 10.0**power)


@given(a=sizes, b=sizes)
def test_it_is_a_division_with_the_slopes_of_one(a, b):
    slopes = jax.grad(quotient, argnums=(0, 1))(jnp.asarray(a), jnp.asarray(b))
    assert float(quotient(jnp.asarray(a), jnp.asarray(b))) == pytest.approx(a / b, rel=1e-12)
    np.testing.assert_allclose(slopes, [1 / b, -(a / b) / b], rtol=1e-12)


@pytest.mark.parametrize("size", [1e-18, 1e-22, 1e-30])
def test_the_slopes_of_single_precision_traces_are_finite_and_nothing_stays_nothing(size):
    a, b = jnp.asarray(size, jnp.float32), jnp.asarray(2 * size, jnp.float32)
    _, back = jax.vjp(quotient, a, b)
    for weight in (0.0, 1.0):
        assert all(bool(jnp.isfinite(slope)) for slope in back(jnp.asarray(weight, jnp.float32)))
    assert [float(slope) for slope in back(jnp.zeros((), jnp.float32))] == [0, 0]


def test_a_divisor_under_the_least_normal_number_gives_nothing():
    a, b = jnp.asarray(1e-41, jnp.float32), jnp.asarray(2e-41, jnp.float32)
    value, back = jax.vjp(quotient, a, b)
    assert float(value) == 0
    assert all(bool(jnp.isfinite(slope)) for slope in back(jnp.ones((), jnp.float32)))


def test_twin_a_plain_division_turns_nothing_into_what_is_not_a_number():
    a, b = jnp.asarray(1e-22, jnp.float32), jnp.asarray(2e-22, jnp.float32)
    _, back = jax.vjp(jnp.divide, a, b)
    assert not bool(jnp.isfinite(back(jnp.zeros((), jnp.float32))[1]))

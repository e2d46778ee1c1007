"""What is left of earlier set points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from studies.uci.steady_response import Exchange, Pools
from tests.studies.uci.rigs import EXCHANGE

DURATIONS = np.array([100.0, 12.0, 300.0, 3.0])
SET_POINTS = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5], [0.0, 0.0]])


def test_pools_follow_their_differential_equation():
    pools = Pools.clean(2)
    for c, d in zip(SET_POINTS, DURATIONS, strict=True):
        after = EXCHANGE.after(pools, c, d)
        for k in range(2):
            ode = solve_ivp(
                lambda t, m, k=k, c=c: (t >= EXCHANGE.delay_s) * (c - m) / EXCHANGE.tau_s[k],
                (0, d),
                pools.m[k],
                max_step=0.05,
                rtol=1e-8,
            )
            np.testing.assert_allclose(after.m[k], ode.y[:, -1], atol=5e-3)
        pools = after


def test_what_the_sensors_feel_is_affine_in_the_set_point():
    pools = EXCHANGE.after(Pools.clean(2), SET_POINTS[0], 40.0)
    left, share = EXCHANGE.affine(pools, 60.0)
    np.testing.assert_allclose(left + share * SET_POINTS[1], EXCHANGE.felt(EXCHANGE.after(pools, SET_POINTS[1], 60.0)))


def test_a_sequence_is_its_steps():
    pools, stepwise = Pools.clean(2), []
    for c, d in zip(SET_POINTS, DURATIONS, strict=True):
        pools = EXCHANGE.after(pools, c, d)
        stepwise.append(EXCHANGE.felt(pools))
    np.testing.assert_allclose(EXCHANGE.along(SET_POINTS, DURATIONS), stepwise)


@given(st.floats(0, 5.0), st.floats(0.1, 3))
def test_a_set_point_shorter_than_the_delay_is_not_felt(duration, c):
    pools = Pools(np.array([[1.0, 2.0], [0.5, 0.3]]))
    left, share = EXCHANGE.affine(pools, duration)
    np.testing.assert_array_equal(share, 0)
    np.testing.assert_allclose(left, EXCHANGE.felt(pools))


@given(st.floats(0, 3), st.floats(0, 3), st.floats(0, 400))
def test_what_is_felt_lies_between_the_old_and_the_new(old, new, duration):
    pools = Pools(np.full((2, 2), old))
    x = EXCHANGE.felt(EXCHANGE.after(pools, np.full(2, new), duration))
    assert np.all(x >= min(old, new) - 1e-12)
    assert np.all(x <= max(old, new) + 1e-12)


def test_twin_a_chamber_that_forgets_at_once_differs():
    forgetful = Exchange(0.0, np.array([1e-6, 1e-6]), EXCHANGE.slow)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(
            forgetful.along(SET_POINTS, DURATIONS), EXCHANGE.along(SET_POINTS, DURATIONS), rtol=0.01
        )

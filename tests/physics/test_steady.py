"""The steady state of a chamber is a fixed point, and its absence is said."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import DT, GEOMETRY, has_nan, normwise, problem, relative, seeds
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.source import Constant
from unmixnet.physics.state import Status
from unmixnet.physics.steady import gas_tendency, steady_state


def constant(seed: int, share: float = 1.0, odorants: float = 1e-3):
    """A process whose source gives off its amount every hundred seconds, for ever."""
    process, _ = problem(seed, odorant_fraction=odorants)
    amount = share * process.source.amount / 100
    return eqx.tree_at(lambda p: (p.source.profile, p.source.amount), process, (Constant(), amount))


solve = jax.jit(lambda process: steady_state(process, GEOMETRY))
tendency = jax.jit(lambda N, process: gas_tendency(N, process, GEOMETRY, jnp.zeros(())))
FIRST, SECOND = Policy(order=1), Policy(order=2, slopes=False, stages=2)


@partial(jax.jit, static_argnames="policy")
def run(process, start, dt, policy=FIRST):
    return rollout(process, GEOMETRY, start, dt, 400, save=("x", "y"), policy=policy)


@given(seed=seeds, odorants=st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_nothing_changes_in_the_steady_state(seed, odorants):
    process = constant(seed, odorants=odorants)
    state, exists = solve(process)
    release = float(jnp.max(process.source.amount))
    assert exists and np.all(state.N >= 0) and np.max(state.theta[1:]) > 0
    assert np.max(np.abs(tendency(state.N, process))[1:]) <= 1e-9 * release


def test_a_rollout_from_the_steady_state_stays_to_the_order_of_its_step():
    process = constant(3)
    state, _ = solve(process)
    drifts = []
    for dt in (0.1, 0.05, 0.025):
        after = run(process, state, jnp.asarray(dt))
        assert after.status == Status.OK
        drifts.append(normwise(after.final.y, state.y))
    assert drifts[0] < 5e-3
    assert drifts[1] < 0.7 * drifts[0] and drifts[2] < 0.7 * drifts[1]


def test_a_rollout_of_the_second_order_stays_in_the_steady_state_whatever_its_step():
    process = constant(3)
    state, _ = solve(process)
    for dt in (0.4, 0.1):
        after = run(process, state, jnp.asarray(dt), SECOND)
        assert after.status == Status.OK and normwise(after.final.y, state.y) < 1e-9


def test_twin_a_rollout_from_clean_air_does_not_stay():
    process = constant(3)
    air = problem(3)[1]
    assert normwise(run(process, air, DT).final.y, air.y) > 5e-2


def test_clean_air_without_a_source_is_steady():
    state, exists = solve(constant(1, share=0.0))
    assert exists
    assert relative(state.N[0], problem(1)[1].N[0]) <= 1e-9
    assert np.all(state.theta[0] == 1)


def closed(process):
    """The same chamber without flow and walls: what is released stays."""
    shut = eqx.tree_at(lambda p: p.flow, process, jax.tree.map(jnp.zeros_like, process.flow))
    return eqx.tree_at(lambda p: p.wall, shut, jnp.zeros_like(process.wall))


def test_a_closed_chamber_with_a_source_has_no_steady_state_and_says_so():
    state, exists = solve(closed(constant(1)))
    assert not exists
    assert not has_nan(state)


def test_a_closed_chamber_without_a_source_is_steady_as_it_is():
    state, exists = solve(closed(constant(1, share=0.0)))
    assert exists
    assert not has_nan(state)


def test_the_derivative_of_the_steady_state_is_its_difference_quotient():
    process = constant(2)
    signal = jax.jit(lambda share: jnp.sum(steady_state(scale(process, share), GEOMETRY)[0].y))
    h = 1e-4
    difference = (8 * (signal(1 + h) - signal(1 - h)) - (signal(1 + 2 * h) - signal(1 - 2 * h))) / (12 * h)
    assert float(jax.grad(signal)(1.0)) == pytest.approx(float(difference), rel=1e-6)


def scale(process, share):
    return eqx.tree_at(lambda p: p.source.amount, process, share * process.source.amount)

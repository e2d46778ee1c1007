"""Laws of the rollout that chooses its steps: as accurate as asked, at the times asked for, nothing lost."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import GEOMETRY, normwise, problem, seeds
from tests.physics.batch import side_by_side
from unmixnet.physics.adaptive import rollout_adaptive
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.source import Constant
from unmixnet.physics.state import State, Status, with_samples
from unmixnet.simulation.validation.reference import ChamberEquations

UPWIND, SLOPES = Policy(order=2, slopes=False), Policy(order=2)
T_END = 20.0
SAVED = ("y", "N", "theta", "ledger")


@jax.jit
def solve(process, start, save_at, tolerance, policy=UPWIND):
    return rollout_adaptive(process, GEOMETRY, start, save_at, tolerance=tolerance, save=SAVED, policy=policy)


def odorous(seed: int):
    """A made-up problem with walls and sinks, and its end by Radau on the unsplit equations."""
    process, start = problem(seed, odorant_fraction=0.02, wall_per_s=5e-3)
    return process, start, ChamberEquations(process, GEOMETRY).solve(T_END, rtol=1e-10)


def miss(final: State, start: State, exact) -> float:
    """Largest error of odorants, coverages and signals, each relative to its largest value."""
    return max(
        max(normwise(final.N[i], exact.N[-1][:, i]) for i in range(1, 4)),
        normwise(final.theta[1:].T, exact.theta[-1][:, 1:]),
        normwise(final.y - start.y, exact.y[-1] - np.asarray(start.y)),
    )


@settings(max_examples=3)
@given(seed=seeds)
def test_a_smaller_tolerance_costs_more_steps_and_leaves_a_smaller_error(seed):
    process, start, exact = odorous(seed)
    errors, steps = [], []
    for tolerance in (1e-2, 1e-3, 1e-4):
        run = solve(process, start, jnp.asarray([T_END]), tolerance)
        assert run.status == Status.OK and run.final.t == T_END
        errors.append(miss(run.final, start, exact))
        steps.append(int(run.steps))
        assert errors[-1] <= 10 * tolerance
    assert errors[0] > errors[1] > errors[2], errors
    assert steps[0] < steps[1] < steps[2], steps


@pytest.mark.parametrize("policy", [UPWIND, SLOPES], ids=["upwind", "slopes"])
@settings(max_examples=5)
@given(seed=seeds, gaps=st.lists(st.floats(1e-3, 5.0), min_size=6, max_size=6))
def test_the_ledger_closes_at_whatever_times_are_saved(policy, seed, gaps):
    process, start = problem(seed, odorant_fraction=1e-2)
    times = jnp.cumsum(jnp.asarray(gaps))
    run = solve(process, start, times, 1e-3, policy)
    assert run.status <= Status.LIMITED and run.final.t == times[-1]
    assert np.max(run.saved.ledger) <= 1e-12
    assert np.min(run.saved.N) >= 0 and np.min(run.saved.theta) >= 0
    assert np.max(np.abs(jnp.sum(run.saved.theta, axis=1) - 1)) <= 1e-12
    assert np.all(run.final.reservoirs.source[1:] > 0)
    # a time that is skipped on the way changes nothing beyond the tolerance
    last = solve(process, start, times.at[:-1].set(times[-1] * jnp.linspace(0.1, 0.6, 5)), 1e-3, policy)
    assert normwise(run.final.N[1:], last.final.N[1:]) <= 1e-2
    assert normwise(run.saved.y[-1], last.saved.y[-1]) <= 1e-2


def test_what_is_saved_is_the_solution_at_these_times():
    process, start, _ = odorous(4)
    times = jnp.asarray([0.7, 1.9, 2.0, 11.3, 19.99, T_END])
    run = solve(process, start, times, 1e-5)
    exact = ChamberEquations(process, GEOMETRY).solve(T_END, rtol=1e-10, times=np.asarray(times))
    for k in range(len(times)):
        assert normwise(run.saved.y[k] - start.y, exact.y[k] - np.asarray(start.y)) <= 1e-4
    assert normwise(run.saved.y[0] - start.y, run.saved.y[-1] - start.y) > 0.1


def test_twin_half_a_second_off_is_seen():
    process, start, _ = odorous(4)
    early = ChamberEquations(process, GEOMETRY).solve(T_END, rtol=1e-8, times=np.asarray([1.5]))
    run = solve(process, start, jnp.asarray([2.0, 3, 4, 5, 6, 7]), 1e-5)
    assert normwise(run.saved.y[0] - start.y, early.y[0] - np.asarray(start.y)) > 1e-2


def test_a_step_that_is_too_long_is_taken_back_and_counted():
    """A release that starts at t = 0 finds the step grown long in the clean air of the ten seconds before it."""
    process, start = problem(1, odorant_fraction=0.02)
    late = eqx.tree_at(lambda s: s.t, start, jnp.asarray(-10.0))
    sudden = eqx.tree_at(
        lambda p: (p.source.profile, p.source.amount), process, (Constant(), process.source.amount / 10)
    )
    run = solve(sudden, late, jnp.asarray([T_END]), 1e-3)
    assert run.status == Status.OK and run.rejected > 0
    fewer = solve(sudden, late, jnp.asarray([T_END]), 1e-1)
    assert fewer.steps + fewer.rejected < run.steps + run.rejected
    assert np.max(run.saved.ledger) <= 1e-12


def test_too_few_steps_are_reported_with_the_state_that_was_reached():
    process, start = problem(1, odorant_fraction=0.02)
    run = jax.jit(lambda p, s: rollout_adaptive(p, GEOMETRY, s, jnp.asarray([T_END]), max_steps=30))(process, start)
    assert run.status == Status.TOO_MANY_STEPS and run.steps + run.rejected == 30
    assert 0 < run.final.t < T_END and np.all(np.isfinite(run.final.N))


def test_it_stops_at_the_steady_state_and_says_when():
    process, start = problem(3, odorant_fraction=1e-3)
    amount = process.source.amount / 100
    process = eqx.tree_at(lambda p: (p.source.profile, p.source.amount), process, (Constant(), amount))
    whole = jnp.asarray([1e4])
    run = jax.jit(lambda p, s: rollout_adaptive(p, GEOMETRY, s, whole, steady=1e-4, policy=UPWIND))(process, start)
    assert run.status == Status.OK and 60 < run.settled_at < 5e3 and run.final.t == run.settled_at
    later = jax.jit(lambda p, s: rollout(p, GEOMETRY, s, jnp.asarray(0.5), 4000, save=(), policy=FIXED).final)
    assert normwise(later(process, run.final).N[1:], run.final.N[1:]) <= 1e-3
    still = eqx.tree_at(lambda p: p.source.profile, process, problem(3)[0].source.profile)
    going = jax.jit(lambda p, s: rollout_adaptive(p, GEOMETRY, s, jnp.asarray([T_END]), steady=1e-4, policy=UPWIND))
    assert jnp.isinf(going(still, start).settled_at)


FIXED = Policy(order=2, slopes=False, stages=3)


def test_one_sample_alone_equals_the_sample_in_a_batch_within_the_tolerance():
    # one matrix D for all edges, of each sample its own
    samples = [
        (eqx.tree_at(lambda p: p.diffusion.D, process, process.diffusion.D[..., None]), start)
        for process, start in (problem(seed, odorant_fraction=0.02) for seed in (5, 6, 7))
    ]
    tolerance, times = 1e-4, jnp.asarray([3.0, T_END])
    geometry = with_samples(GEOMETRY)
    together = jax.jit(lambda p, s: rollout_adaptive(p, geometry, s, times, tolerance=tolerance, policy=UPWIND))(
        *side_by_side(*samples)
    )
    assert np.all(together.status == Status.OK) and together.saved.y.shape == (2, 4, 3)
    for k, (process, start) in enumerate(samples):
        alone = solve(process, start, times, tolerance)
        assert normwise(together.final.N[1:, :, k], alone.final.N[1:]) <= 10 * tolerance
        assert normwise(together.saved.y[..., k], alone.saved.y) <= 10 * tolerance
        assert together.steps >= 0.8 * alone.steps
    assert normwise(together.saved.y[..., 0], together.saved.y[..., 1]) > 1e-3

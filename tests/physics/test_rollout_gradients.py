"""Derivatives of a whole rollout: right, the same for every checkpoint policy, and kept in √T memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import DT, GEOMETRY, has_nan, law_error, normwise, problem, stirred
from unmixnet.physics.rollout import Policy, rollout

FIRST, SECOND, UPWIND = Policy(order=1), Policy(order=2, stages=2), Policy(order=2, stages=2, slopes=False)
for_both_orders = pytest.mark.parametrize(
    "policy", [pytest.param(FIRST, marks=pytest.mark.soak), SECOND], ids=["first order", "second order"]
)


def symmetric(process):
    D = process.diffusion.D
    return eqx.tree_at(lambda p: p.diffusion.D, process, 0.5 * (D + D.T))


def outputs(args, policy=FIRST):
    """Everything that a rollout returns for a process, a start and a step, as a function of all of them."""
    process, start, dt = args
    run = rollout(symmetric(process), GEOMETRY, start, dt, 12, save=("y", "theta", "N"), policy=policy)
    return run.saved, run.final.reservoirs


@for_both_orders
def test_derivatives_of_a_whole_rollout_are_difference_quotients(policy):
    process, _ = problem(4, odorant_fraction=1e-2)
    start = stirred(process, 4, 1e-2)
    # a rise must not turn into a recovery within the difference: start every sensor well below its target
    start = eqx.tree_at(lambda s: s.y, start, start.y - 5 * process.readout.sign)
    assert law_error(lambda args: outputs(args, policy), (process, start, DT)) <= 1e-6


def test_twin_a_rollout_with_frozen_coverages_has_the_wrong_derivative():
    process, _ = problem(4, odorant_fraction=1e-2)

    def frozen(args):
        process, start, dt = args
        held = eqx.tree_at(lambda p: p.surface, process, jax.lax.stop_gradient(process.surface))
        return rollout(symmetric(held), GEOMETRY, start, dt, 12, save=("y",), policy=FIRST).saved

    assert law_error(frozen, (process, stirred(process, 4, 1e-2), DT)) > 1e-3


@jax.jit
def signal(amount, process, start, policy):
    process = eqx.tree_at(lambda p: p.source.amount, process, amount)
    run = rollout(process, GEOMETRY, start, DT, 12, save=("y",), policy=policy)
    return jnp.sum(run.saved.y * jnp.arange(1.0, 5.0))


@pytest.mark.parametrize("policy", [FIRST, UPWIND], ids=["first order", "second order"])
def test_in_clean_air_the_derivative_of_a_rollout_is_its_one_sided_difference(policy):
    process, air = problem(4, odorant_fraction=1e-2)
    nothing, some = jnp.zeros(3), process.source.amount * 1e-2
    f = [float(signal(k * some, process, air, policy)) for k in range(5)]
    difference = (-25 * f[0] + 48 * f[1] - 36 * f[2] + 16 * f[3] - 3 * f[4]) / 12
    slope = jax.jit(jax.grad(signal))(nothing, process, air, policy)
    assert not has_nan(slope) and np.all(slope != 0)
    assert float(jnp.sum(slope * some)) == pytest.approx(difference, rel=1e-6)


@pytest.mark.soak
def test_in_clean_air_the_derivative_with_slopes_is_that_of_upwind():
    """Limited slopes are homogeneous but not linear: where everything is zero they have no derivative of their own."""
    process, air = problem(4, odorant_fraction=1e-2)
    upwind, slopes = (jax.grad(signal)(jnp.zeros(3), process, air, policy) for policy in (UPWIND, SECOND))
    assert np.all(slopes != 0)
    assert normwise(slopes, upwind) <= 1e-12


def by_D(checkpoint: str, steps: int):
    policy = Policy(checkpoint=checkpoint, order=1)

    def signal(D, process, start):
        process = eqx.tree_at(lambda p: p.diffusion.D, process, D)
        return jnp.sum(rollout(process, GEOMETRY, start, DT, steps, save=("y",), policy=policy).saved.y ** 2)

    return jax.jit(jax.grad(signal))


@pytest.mark.soak
def test_every_checkpoint_policy_gives_the_same_derivative():
    process, _ = problem(6, odorant_fraction=1e-2)
    start = stirred(process, 6, 1e-2)
    # 11 steps leave a remainder beside the 3 × 3 chunks
    slopes = [by_D(policy, 11)(process.diffusion.D, process, start) for policy in ("none", "step", "sqrt")]
    assert np.any(slopes[0] != 0)
    assert normwise(slopes[1], slopes[0]) <= 1e-12
    assert normwise(slopes[2], slopes[0]) <= 1e-12


def memory_exponent(checkpoint: str, lengths=(1024, 16384)) -> float:
    """Slope of log(temporary bytes of the backward pass) against log(T), with nothing saved on the way."""
    process, start = problem(0)
    policy = Policy(checkpoint=checkpoint, order=1)

    def temporary(T: int) -> int:
        def last(D):
            changed = eqx.tree_at(lambda p: p.diffusion.D, process, D)
            return jnp.sum(rollout(changed, GEOMETRY, start, DT, T, save=(), policy=policy).final.y ** 2)

        return jax.jit(jax.grad(last)).lower(process.diffusion.D).compile().memory_analysis().temp_size_in_bytes

    few, many = (temporary(T) for T in lengths)
    return float(np.log(many / few) / np.log(lengths[1] / lengths[0]))


@pytest.mark.soak
def test_memory_grows_like_the_root_of_the_number_of_steps():
    assert memory_exponent("sqrt") <= 0.65


@pytest.mark.soak
def test_twin_memory_of_every_step_grows_linearly():
    assert memory_exponent("step") > 0.85

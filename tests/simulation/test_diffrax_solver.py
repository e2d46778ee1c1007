"""Our step under diffrax: the same numbers as our own loops, of the order it says, and its derivatives."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import ENOSE, GEOMETRY
from unmixnet.errors import SolveError
from unmixnet.physics.adaptive import rollout_adaptive
from unmixnet.physics.rollout import rollout
from unmixnet.physics.state import clean_air
from unmixnet.physics.step import Policy
from unmixnet.simulation.diffrax_solver import StepTerm, UnmixStep
from unmixnet.simulation.validation.synthetic_problem import made_up_process

PROCESS = made_up_process(ENOSE, 3)
START = clean_air(PROCESS, GEOMETRY)
TIMES = jnp.linspace(2.0, 10.0, 5)
SECOND = Policy(order=2, stages=2, slopes=False, checkpoint="none")
FIRST = Policy(order=1, checkpoint="none")


def solved(policy: Policy, process=PROCESS, controller=None, **more):
    """diffrax's solution with constant steps of half a second, or with a controller."""
    solver = UnmixStep(policy) if controller is None else diffrax.HalfSolver(UnmixStep(policy))
    controller = controller or diffrax.ConstantStepSize()
    options = {"saveat": diffrax.SaveAt(ts=TIMES), "stepsize_controller": controller, "dt0": 0.5} | more
    return diffrax.diffeqsolve(StepTerm(), solver, 0.0, 10.0, y0=START, args=(process, GEOMETRY), **options)


@pytest.mark.parametrize("policy", [SECOND, FIRST], ids=["symmetric", "first order"])
def test_constant_steps_are_those_of_rollout(policy):
    ours = jax.jit(lambda p: rollout(p, GEOMETRY, START, jnp.asarray(0.5), 20, save=("N", "y"), policy=policy))(PROCESS)
    theirs = solved(policy).ys
    assert np.ptp(ours.saved.y[:, 0]) > 0.02
    assert np.allclose(theirs.y, ours.saved.y[3::4], rtol=1e-12, atol=1e-14)
    assert np.allclose(theirs.N, ours.saved.N[3::4], rtol=1e-12, atol=1e-30)
    assert np.allclose(theirs.reservoirs.outlet[-1], ours.final.reservoirs.outlet, rtol=1e-12)


def controlled(rtol: float) -> diffrax.AbstractStepSizeController:
    return diffrax.ClipStepSizeController(diffrax.PIDController(rtol=rtol, atol=1e-4 * rtol), step_ts=TIMES)


def test_steps_of_its_controller_agree_with_ours_to_the_tolerance():
    """And those of a loose one, the twin, do not."""
    policy, tolerance = Policy(order=2, slopes=False), 1e-5
    ours = jax.jit(lambda p: rollout_adaptive(p, GEOMETRY, START, TIMES, tolerance=tolerance, policy=policy))(PROCESS)
    under = jax.jit(lambda rtol: solved(policy, controller=controlled(rtol)))
    span = np.ptp(np.asarray(ours.saved.y), axis=0)
    fine, loose = (under(rtol) for rtol in (tolerance, 1e-1))
    assert fine.stats["num_accepted_steps"] > loose.stats["num_accepted_steps"] >= len(TIMES)
    assert np.max(np.abs(fine.ys.y - ours.saved.y) / span) < 10 * tolerance
    assert np.max(np.abs(loose.ys.y - ours.saved.y) / span) > 10 * tolerance


@pytest.mark.soak
def test_gradients_pass_its_adjoint_and_are_those_of_rollout():
    times = diffrax.SaveAt(t1=True)

    def loss(k_ads, by_diffrax):
        process = eqx.tree_at(lambda p: p.surface.k_ads, PROCESS, k_ads)
        if by_diffrax:
            return jnp.sum(solved(FIRST, process, saveat=times, max_steps=32).ys.y ** 2)
        return jnp.sum(rollout(process, GEOMETRY, START, jnp.asarray(0.5), 20, policy=FIRST).final.y ** 2)

    theirs, ours = (jax.jit(jax.grad(loss), static_argnums=1)(PROCESS.surface.k_ads, which) for which in (True, False))
    assert float(jnp.max(jnp.abs(ours))) > 0
    assert np.allclose(theirs, ours, rtol=1e-9)


def test_a_limited_step_is_rejected_instead_of_kept():
    """A step that is far too long for its one substep is NaN, which a controller shortens."""
    fast = eqx.tree_at(lambda p: p.diffusion.D, PROCESS, 300 * PROCESS.diffusion.D)
    step = jax.jit(lambda t1: UnmixStep(FIRST).step(StepTerm(), 0.0, t1, START, (fast, GEOMETRY), None, False)[0])
    assert not bool(jnp.any(jnp.isfinite(step(2.0).N))) and bool(jnp.all(jnp.isfinite(step(1e-4).N)))
    shortened = solved(FIRST, fast, controller=controlled(1e-2), dt0=2.0)
    assert bool(jnp.all(jnp.isfinite(shortened.ys.N))) and shortened.stats["num_rejected_steps"] > 0


def test_who_asks_for_rates_is_told_that_there_are_none():
    with pytest.raises(SolveError, match="vector field"):
        UnmixStep().func(StepTerm(), 0.0, START, (PROCESS, GEOMETRY))
    assert bool(jnp.all(jnp.isnan(StepTerm().vf(0.0, START, None).N)))

r"""The solver step of the paper, and its symmetric form.

    first order     Sⁿ⁺¹ = R ∘ B ∘ Φ ∘ A ∘ I (Sⁿ)              inject, advect, diffuse, adsorb, read
    second order    Sⁿ⁺¹ = B(Δt/2) ∘ T(Δt) ∘ B(Δt/2) (Sⁿ)      T the transport of the gas as one operator, then R

The paper's is a Lie splitting: every factor conservative and positive, advection and diffusion in as many substeps as
stability requires. The second (Strang) adsorbs for half a step before and after the transport, whose operators are not
split at all, and the readout follows the parabola through its targets at the start, the middle and the end. A
steady state leaves every factor unchanged, so it does not depend on Δt. Cells of fixed composition are refilled after
each transport operator and what they supplied is recorded.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics import closure
from unmixnet.physics.adsorption import adsorb
from unmixnet.physics.advection import advect, inflow, transfer
from unmixnet.physics.closure import Closure
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.diffusion import composition, diffuse, wall_loss
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.reaction import react
from unmixnet.physics.readout import follow, read, target
from unmixnet.physics.source import inject
from unmixnet.physics.state import Process, Reservoirs, State
from unmixnet.physics.transport import Moved, hold, transport

__all__ = ["Policy", "Step", "step"]

Carry = TypeVar("Carry")


class Policy(eqx.Module):
    """How to solve, as opposed to what: static, so that each choice compiles once."""

    substeps_advection: int = eqx.field(static=True, default=1)
    """Of a step of first order."""
    substeps_diffusion: int = eqx.field(static=True, default=1)
    checkpoint: Literal["none", "step", "sqrt"] = eqx.field(static=True, default="step")
    """What the backward pass keeps: every intermediate, every state, or √T states."""
    dense_adsorption: bool = eqx.field(static=True, default=False)
    """Use the reference matrix exponential (slow; for comparison)."""
    order: Literal[1, 2] = eqx.field(static=True, default=2)
    """Order in time: the paper's splitting, or the symmetric one."""
    stages: int | None = eqx.field(static=True, default=None)
    """Runge–Kutta stages of the transport in a step of second order, two or more; None takes as many as the
    coefficients need. A given number compiles to a faster backward pass."""
    slopes: bool = eqx.field(static=True, default=True)
    """Limited slopes along velocities (second order in space) instead of upwind; in steps of second order."""


class Step(eqx.Module):
    """What one step did."""

    state: State
    J: Float[Array, "S E *B"]
    """Diffusive flux, mean over the step [mol/(m² s)]."""
    limited: Bool[Array, "*B"]
    """Whether a step was limited because more was to leave a cell than it holds."""
    direct_solves: Int[Array, "*B"]
    """Edges whose flux iteration was replaced by a direct solve."""
    closure: Closure | None
    """Diagnostics, if requested."""


def step(
    process: Process,
    geometry: Geometry,
    state: State,
    dt: Float[Array, ""],
    policy: Policy,
    *,
    stages: Int[Array, ""] | None = None,
    diagnose: bool = False,
) -> Step:
    """One solver step; with `diagnose` its closure is computed too. `stages` of the transport, if the policy does not
    say, are as many as the coefficients need.
    """
    if policy.order == 2:
        count = policy.stages if stages is None else stages
        N, theta, y, moved, sink = _symmetric(process, geometry, state, dt, policy, count)
    else:
        N, theta, y, moved, sink = _split(process, geometry, state, dt, policy)
    r = state.reservoirs
    reservoirs = Reservoirs(
        source=r.source + moved.source.sum(1),
        inlet=r.inlet + moved.inlet.sum(1),
        boundary=r.boundary + moved.held.sum(1),
        outlet=r.outlet + moved.outlet.sum(1),
        wall=r.wall + moved.wall.sum(1),
        reaction=r.reaction + moved.made.sum(1),
    )
    report = None
    if diagnose:
        gains = moved.source + moved.inlet + moved.held + moved.made - moved.outlet - moved.wall - sink
        gains = gains + geometry.divergence(moved.along + moved.spread)
        report = _closure(process, geometry, state.N, N, gains, theta, moved)
    after = State(N, theta, y, reservoirs, state.t + dt)
    return Step(after, moved.spread / (dt * geometry.area), moved.limited, moved.direct, report)


def _symmetric(
    process: Process,
    geometry: Geometry,
    state: State,
    dt: Float[Array, ""],
    policy: Policy,
    stages: int | Int[Array, ""] | None,
):
    """A step of second order: moles, coverage, readout, what moved, and what the surfaces took."""
    half, dense = 0.5 * dt, policy.dense_adsorption
    N, middle, first = adsorb(state.N, state.theta, process.surface, geometry, half, midpoint=True, reference=dense)
    N, moved = transport(N, process, geometry, state.t, dt, stages, slopes=policy.slopes)
    N, theta, second = adsorb(N, middle, process.surface, geometry, half, midpoint=True, reference=dense)
    N, given = hold(N, process, geometry, state.t + dt)
    moved = eqx.tree_at(lambda m: m.held, moved, moved.held + given)
    begin, halfway, end = (target(value, process.readout, process.conditions) for value in (state.theta, middle, theta))
    return N, theta, follow(state.y, (begin, halfway, end), process.readout, dt), moved, first + second


def _split(process: Process, geometry: Geometry, state: State, dt: Float[Array, ""], policy: Policy):
    """A step of first order: moles, coverage, readout, what moved, and what the surfaces took."""
    N, released = inject(state.N, process.source, process.conditions, state.t, dt)
    moved = Moved.nothing(N, geometry)
    moved = eqx.tree_at(lambda m: m.source, moved, moved.source + released)
    N, moved = _advection(N, moved, process, geometry, state.t, dt, policy.substeps_advection)
    N, moved = _diffusion(N, moved, process, geometry, state.t, dt, policy.substeps_diffusion)
    if process.wall is not None:
        N, lost = wall_loss(N, process.wall, dt)
        moved = eqx.tree_at(lambda m: m.wall, moved, lost)
    if process.reaction is not None:
        N, made, short = react(N, N, process.reaction, process.conditions, geometry, dt)
        moved = eqx.tree_at(lambda m: (m.made, m.limited), moved, (made, moved.limited | short))
    N, theta, sink = adsorb(N, state.theta, process.surface, geometry, dt, reference=policy.dense_adsorption)
    return N, theta, read(state.y, theta, process.readout, process.conditions, dt), moved, sink


def _advection(
    N: Float[Array, "S V *B"],
    moved: Moved,
    process: Process,
    geometry: Geometry,
    t: Float[Array, ""],
    dt: Float[Array, ""],
    substeps: int,
) -> tuple[Float[Array, "S V *B"], Moved]:
    """Transfers, inlets and outlets over Δt, in substeps that respect CFL."""
    h, middle, c_air = dt / substeps, t + 0.5 * dt, air_concentration(process.conditions)
    P = transfer(process.flow, geometry, h)
    entering = jnp.zeros_like(N)
    if process.inlet is not None:
        entering = entering + inflow(process.flow, process.inlet.at(middle), c_air, h)

    def substep(carry):
        N, m = carry
        N, along, out = advect(N, P, geometry)
        N, given = hold(N + entering, process, geometry, middle)
        sums = (m.along + along, m.outlet + out, m.inlet + entering, m.held + given, m.limited | P.limited)
        return N, eqx.tree_at(lambda m: (m.along, m.outlet, m.inlet, m.held, m.limited), m, sums)

    return _repeat(substep, (N, moved), substeps)


def _diffusion(
    N: Float[Array, "S V *B"],
    moved: Moved,
    process: Process,
    geometry: Geometry,
    t: Float[Array, ""],
    dt: Float[Array, ""],
    substeps: int,
) -> tuple[Float[Array, "S V *B"], Moved]:
    """Maxwell–Stefan diffusion over Δt, in substeps that respect the diffusion number."""
    h, middle = dt / substeps, t + 0.5 * dt

    def substep(carry):
        N, m = carry
        N_next, J, acted, fell_back = diffuse(N, process.diffusion, geometry, h)
        N_next, given = hold(N_next, process, geometry, middle)
        sums = (m.spread + h * geometry.area * J, N, J, m.held + given, m.limited | acted, m.direct + fell_back)
        return N_next, eqx.tree_at(lambda m: (m.spread, m.N_last, m.J_last, m.held, m.limited, m.direct), m, sums)

    return _repeat(substep, (N, moved), substeps)


def _repeat(substep: Callable[[Carry], Carry], carry: Carry, count: int) -> Carry:
    """Apply a substep `count` times; a single one needs no loop."""
    if count == 1:
        return substep(carry)
    return jax.lax.scan(lambda c, _: (substep(c), None), carry, None, length=count)[0]


def _closure(
    process: Process,
    geometry: Geometry,
    N_start: Float[Array, "S V *B"],
    N_end: Float[Array, "S V *B"],
    gains: Float[Array, "S V *B"],
    theta: Float[Array, "S M *B"],
    moved: Moved,
) -> Closure:
    x, c, _ = composition(moved.N_last, geometry.volume)
    law = process.diffusion
    odorant, carrier = closure.mass_error(N_start, N_end, gains)
    return Closure(
        ms_residual=closure.ms_residual(x, c, moved.J_last / law.scale, law.D, geometry),
        mass_error=odorant,
        carrier_error=carrier,
        simplex_error=closure.simplex_error(theta),
        entropy_production=closure.entropy_production(x, c, moved.J_last, law.scale, law.D, geometry),
    )

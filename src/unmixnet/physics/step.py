r"""The solver step of the paper.

    Sⁿ⁺¹ = R ∘ B ∘ Φ ∘ A ∘ I (Sⁿ)      inject, advect, diffuse, adsorb, read

A Lie splitting: first order in Δt, every factor conservative and positive. Advection and diffusion run in as many
substeps as stability requires. Cells of fixed composition are refilled after each transport operator and what
they supplied is recorded.
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
from unmixnet.physics.readout import read
from unmixnet.physics.source import inject
from unmixnet.physics.state import Process, Reservoirs, State

__all__ = ["Policy", "Step", "step"]

Carry = TypeVar("Carry")


class Policy(eqx.Module):
    """How to solve, as opposed to what: static, so that each choice compiles once."""

    substeps_advection: int = eqx.field(static=True, default=1)
    substeps_diffusion: int = eqx.field(static=True, default=1)
    checkpoint: Literal["none", "step", "sqrt"] = eqx.field(static=True, default="step")
    """What the backward pass keeps: every intermediate, every state, or √T states."""
    dense_adsorption: bool = eqx.field(static=True, default=False)
    """Use the reference matrix exponential (slow; for comparison)."""


class Step(eqx.Module):
    """What one step did."""

    state: State
    J: Float[Array, "E S"]
    """Diffusive flux, mean over the substeps [mol/(m² s)]."""
    limited: Bool[Array, ""]
    """Whether a step was limited because more was to leave a cell than it holds."""
    direct_solves: Int[Array, ""]
    """Edges whose flux iteration was replaced by a direct solve."""
    closure: Closure | None
    """Diagnostics, if requested."""


class _Stream(eqx.Module):
    """Moles moved by advection and through the openings."""

    along: Float[Array, "E S"]
    outlet: Float[Array, "V S"]
    inlet: Float[Array, "V S"]
    held: Float[Array, "V S"]
    limited: Bool[Array, ""]


class _Spread(eqx.Module):
    """What diffusion did; the last substep's moles and flux are kept for the Maxwell–Stefan residual."""

    J: Float[Array, "E S"]
    N_last: Float[Array, "V S"]
    J_last: Float[Array, "E S"]
    held: Float[Array, "V S"]
    limited: Bool[Array, ""]
    direct: Int[Array, ""]


def step(
    process: Process,
    geometry: Geometry,
    state: State,
    dt: Float[Array, ""],
    policy: Policy,
    *,
    diagnose: bool = False,
) -> Step:
    """One solver step; with `diagnose` its closure is computed too."""
    N, released = inject(state.N, process.source, process.conditions, state.t, dt)
    N, stream = _advection(N, process, geometry, state.t, dt, policy.substeps_advection)
    N, spread = _diffusion(N, process, geometry, state.t, dt, policy.substeps_diffusion)
    lost = jnp.zeros_like(N)
    if process.wall is not None:
        N, lost = wall_loss(N, process.wall, dt)
    N, theta, sink = adsorb(N, state.theta, process.surface, geometry, dt, reference=policy.dense_adsorption)
    y = read(state.y, theta, process.readout, process.conditions, dt)

    held, r = stream.held + spread.held, state.reservoirs
    reservoirs = Reservoirs(
        source=r.source + released.sum(0),
        inlet=r.inlet + stream.inlet.sum(0),
        boundary=r.boundary + held.sum(0),
        outlet=r.outlet + stream.outlet.sum(0),
        wall=r.wall + lost.sum(0),
    )
    report = None
    if diagnose:
        gains = released + stream.inlet + held - stream.outlet - lost - sink
        gains = gains + geometry.divergence(stream.along + dt * geometry.area[:, None] * spread.J)
        report = _closure(process, geometry, state.N, N, gains, theta, spread)
    after = State(N, theta, y, reservoirs, state.t + dt)
    return Step(after, spread.J, stream.limited | spread.limited, spread.direct, report)


def _advection(
    N: Float[Array, "V S"],
    process: Process,
    geometry: Geometry,
    t: Float[Array, ""],
    dt: Float[Array, ""],
    substeps: int,
) -> tuple[Float[Array, "V S"], _Stream]:
    """Transfers, inlets and outlets over Δt, in substeps that respect CFL."""
    h, middle, c_air = dt / substeps, t + 0.5 * dt, air_concentration(process.conditions)
    P = transfer(process.flow, geometry, h)
    nothing = jnp.zeros_like(N)
    entering = nothing if process.inlet is None else inflow(process.flow, process.inlet.at(middle), c_air, h)

    def substep(carry):
        N, s = carry
        N, along, out = advect(N, P, geometry)
        N, given = _hold(N + entering, process, geometry, c_air, middle)
        return N, _Stream(s.along + along, s.outlet + out, s.inlet + entering, s.held + given, s.limited)

    along = jnp.zeros((geometry.tail.shape[0], N.shape[1]), N.dtype)
    return _repeat(substep, (N, _Stream(along, nothing, nothing, nothing, P.limited)), substeps)


def _diffusion(
    N: Float[Array, "V S"],
    process: Process,
    geometry: Geometry,
    t: Float[Array, ""],
    dt: Float[Array, ""],
    substeps: int,
) -> tuple[Float[Array, "V S"], _Spread]:
    """Maxwell–Stefan diffusion over Δt, in substeps that respect the diffusion number."""
    h, middle, c_air = dt / substeps, t + 0.5 * dt, air_concentration(process.conditions)

    def substep(carry):
        N, s = carry
        N_next, J, acted, fell_back = diffuse(N, process.diffusion, geometry, h)
        N_next, given = _hold(N_next, process, geometry, c_air, middle)
        direct = s.direct + fell_back.astype(jnp.int32)
        return N_next, _Spread(s.J + J / substeps, N, J, s.held + given, s.limited | acted, direct)

    none = jnp.zeros((geometry.tail.shape[0], N.shape[1]), N.dtype)
    start = _Spread(none, N, none, jnp.zeros_like(N), jnp.zeros((), bool), jnp.zeros((), jnp.int32))
    return _repeat(substep, (N, start), substeps)


def _repeat(substep: Callable[[Carry], Carry], carry: Carry, count: int) -> Carry:
    """Apply a substep `count` times; a single one needs no loop."""
    if count == 1:
        return substep(carry)
    return jax.lax.scan(lambda c, _: (substep(c), None), carry, None, length=count)[0]


def _hold(
    N: Float[Array, "V S"], process: Process, geometry: Geometry, c: Float[Array, ""], t: Float[Array, ""]
) -> tuple[Float[Array, "V S"], Float[Array, "V S"]]:
    """Refill the cells of fixed composition; what the boundary supplied (negative: took)."""
    if process.boundary is None:
        return N, jnp.zeros_like(N)
    held = jnp.where(geometry.fixed[:, None], c * geometry.volume[:, None] * process.boundary.at(t), N)
    return held, held - N


def _closure(
    process: Process,
    geometry: Geometry,
    N_start: Float[Array, "V S"],
    N_end: Float[Array, "V S"],
    gains: Float[Array, "V S"],
    theta: Float[Array, "M S"],
    spread: _Spread,
) -> Closure:
    x, c, _ = composition(spread.N_last, geometry.volume)
    D = process.diffusion.scale[:, None, None] * process.diffusion.D
    odorant, carrier = closure.mass_error(N_start, N_end, gains)
    return Closure(
        ms_residual=closure.ms_residual(x, c, spread.J_last, D, geometry),
        mass_error=odorant,
        carrier_error=carrier,
        simplex_error=closure.simplex_error(theta),
        entropy_production=closure.entropy_production(x, c, spread.J_last, D, geometry),
    )

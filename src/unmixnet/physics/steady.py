r"""Steady state of a chamber: where a rollout starts when the odour was there before the recording.

    0 = q + advection(N) + B A J(N) − κ_wall N,     θ = extended Langmuir,     y = s*

The surfaces exchange nothing at equilibrium, so the gas decouples from them. Newton's method on the V·S moles; at
trace concentrations the equations are linear and it converges in two or three steps. A chamber without inlet, outlet,
wall loss or fixed cell has no steady state under a source: the residual then does not vanish, which is reported.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.physics.advection import advective_rate, inflow
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.diffusion import fluxes
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import target
from unmixnet.physics.source import injected
from unmixnet.physics.state import Process, State, clean_air

__all__ = ["gas_tendency", "steady_state"]


def gas_tendency(
    N: Float[Array, "S V *B"], process: Process, geometry: Geometry, t: Float[Array, ""]
) -> Float[Array, "S V *B"]:
    """dN/dt of the gas phase without the surfaces, at the source strength of time t [mol/s]; upwind."""
    second = jnp.ones((), N.dtype)
    J, _ = fluxes(N, process.diffusion, geometry)
    rate = injected(process.source, process.conditions, t, second) + advective_rate(N, process.flow, geometry)
    rate = rate + geometry.divergence(geometry.area * J)
    if process.inlet is not None:
        rate = rate + inflow(process.flow, process.inlet.at(t), air_concentration(process.conditions), second)
    if process.reaction is not None:
        made = geometry.volume * process.reaction.rate(N[1:] / geometry.volume, process.conditions)
        rate = rate.at[1:].add(made)
    return rate if process.wall is None else rate - process.wall * N


def steady_state(
    process: Process, geometry: Geometry, t: Float[Array, ""] | float = 0.0, *, iterations: int = 8
) -> tuple[State, Bool[Array, ""]]:
    """The state in which the source of time t leaves the chamber unchanged, and whether there is one; one sample."""
    air = clean_air(process, geometry)
    t = jnp.asarray(t, air.N.dtype)
    scale = air_concentration(process.conditions) * geometry.volume
    held = None if process.boundary is None else scale * process.boundary.at(t)

    def residual(u):
        N = scale * u.reshape(air.N.shape)
        rate = gas_tendency(N, process, geometry, t) / scale
        if held is not None:
            rate = jnp.where(geometry.fixed, (N - held) / scale, rate)
        return rate.ravel()

    def newton(u, _):
        slope = jax.jacfwd(residual)(u)
        return u - jnp.linalg.solve(slope, residual(u)), jnp.max(jnp.sum(jnp.abs(slope), axis=1))

    clean = (air.N / scale).ravel()
    u, steepness = jax.lax.scan(newton, clean, None, length=iterations)
    size = jnp.max(jnp.abs(residual(clean)))
    # what rounding alone leaves; clean air without a source is steady to that level already
    rounding = 100 * jnp.finfo(u.dtype).eps * steepness[0]
    u = jnp.where(size <= rounding, clean, u)
    N = scale * u.reshape(air.N.shape)
    left = jnp.max(jnp.abs(residual(u)))
    exists = jnp.isfinite(left) & (left <= 1e-3 * size + rounding) & jnp.all(N >= -1e-6 * scale)
    N = jnp.where(exists, jnp.where(N < 0, 0, N), air.N)
    return settled(eqx.tree_at(lambda s: (s.N, s.t), air, (N, t)), process, geometry), exists


def settled(state: State, process: Process, geometry: Geometry) -> State:
    """The state with its surfaces and readouts in equilibrium with its gas."""
    theta = process.surface.stationary(geometry.at_sensors(state.N[1:] / geometry.volume))
    y = target(theta, process.readout, process.conditions)
    return eqx.tree_at(lambda s: (s.theta, s.y), state, (theta, y))

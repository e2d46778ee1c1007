r"""Steady state of a chamber: where a rollout starts when the odour was there before the recording.

    0 = q + advection(N) + B A J(N) − κ_wall N,     θ = extended Langmuir,     y = s*

The surfaces exchange nothing at equilibrium, so the gas decouples from them. Newton's method on the V·S moles; at
trace concentrations the equations are linear and it converges in two or three steps. A chamber without inlet, outlet,
wall loss or fixed cell has no steady state under a source: the residual then does not vanish, which is reported.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.physics.adsorption import stationary_coverage
from unmixnet.physics.advection import advective_rate, inflow
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.diffusion import fluxes
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import target
from unmixnet.physics.source import release
from unmixnet.physics.state import Process, State, clean_air

__all__ = ["gas_tendency", "steady_state"]


def gas_tendency(
    N: Float[Array, "V S"], process: Process, geometry: Geometry, t: Float[Array, ""]
) -> Float[Array, "V S"]:
    """dN/dt of the gas phase without the surfaces, at the source strength of time t [mol/s]."""
    second = jnp.ones((), N.dtype)
    q = jnp.pad(release(process.source, process.conditions, t, second), (1, 0))
    J, _ = fluxes(N, process.diffusion, geometry)
    rate = process.source.p_src[:, None] * q + advective_rate(N, process.flow, geometry)
    rate = rate + geometry.divergence(geometry.area[:, None] * J)
    if process.inlet is not None:
        rate = rate + inflow(process.flow, process.inlet.at(t), air_concentration(process.conditions), second)
    return rate if process.wall is None else rate - process.wall * N


def steady_state(
    process: Process, geometry: Geometry, t: Float[Array, ""] | float = 0.0, *, iterations: int = 8
) -> tuple[State, Bool[Array, ""]]:
    """The state in which the source of time t leaves the chamber unchanged, and whether there is one."""
    air = clean_air(process, geometry)
    t = jnp.asarray(t, air.N.dtype)
    c = air_concentration(process.conditions)
    held = None if process.boundary is None else c * geometry.volume[:, None] * process.boundary.at(t)
    scale = c * geometry.volume[:, None]

    def residual(u):
        N = scale * u.reshape(air.N.shape)
        rate = gas_tendency(N, process, geometry, t) / scale
        if held is not None:
            rate = jnp.where(geometry.fixed[:, None], (N - held) / scale, rate)
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
    concentration = N[geometry.sensor_cell, 1:] / geometry.volume[geometry.sensor_cell, None]
    theta = jax.vmap(stationary_coverage)(process.surface.k_ads * concentration, process.surface.k_des)
    y = target(theta, process.readout, process.conditions)
    return State(N, theta, y, air.reservoirs, t), exists

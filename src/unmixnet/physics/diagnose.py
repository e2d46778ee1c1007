"""Which operator broke a step: the step again from its last good state, one operator at a time."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.adsorption import adsorb
from unmixnet.physics.advection import advect, transfer
from unmixnet.physics.diffusion import diffuse, wall_loss
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import read
from unmixnet.physics.source import inject
from unmixnet.physics.state import Process, State
from unmixnet.physics.step import Policy
from unmixnet.physics.transport import transport

__all__ = ["failing_operator"]


def failing_operator(process: Process, geometry: Geometry, state: State, dt: Float[Array, ""], policy: Policy) -> str:
    """Name of the first operator whose result is not finite, or "none"; not for use under `jit`."""

    def broken(value: Array) -> bool:
        return not bool(jnp.all(jnp.isfinite(value)))

    N, _ = inject(state.N, process.source, process.conditions, state.t, dt)
    if broken(N):
        return "source"
    if policy.order == 2:
        N, *_ = transport(state.N, process, geometry, state.t, dt, policy.stages, slopes=policy.slopes)
        if broken(N):
            return "transport"
    for _ in range(policy.substeps_advection):
        N, *_ = advect(N, transfer(process.flow, geometry, dt / policy.substeps_advection), geometry)
    if broken(N):
        return "advection"
    for _ in range(policy.substeps_diffusion):
        N, *_ = diffuse(N, process.diffusion, geometry, dt / policy.substeps_diffusion)
    if process.wall is not None:
        N, _ = wall_loss(N, process.wall, dt)
    if broken(N):
        return "diffusion"
    N, theta, _ = adsorb(N, state.theta, process.surface, geometry, dt)
    if broken(N) or broken(theta):
        return "adsorption"
    return "readout" if broken(read(state.y, theta, process.readout, process.conditions, dt)) else "none"

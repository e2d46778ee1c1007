r"""Consistency with the sensor boundary: do coverages and signals follow from the gas that the sensors breathe?

    L_ads = ⟨(Σθ − 1)²⟩ + ⟨min(θ, 0)²⟩ + ⟨(θⁿ⁺¹ − exp(Δt Q(c)) θⁿ)²⟩ + ⟨(yⁿ⁺¹ − lag(yⁿ, s*(θⁿ⁺¹)))²⟩

means over steps and sensors (and sites): simplex, boundary reaction, readout. The gas before a reaction is the gas
after it and what the surfaces took. θ is dimensionless, y in the units of the readout. Zero to rounding for the full
solver.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.adsorption import Surface, adsorb
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import read
from unmixnet.physics.state import Process, State

__all__ = ["adsorption_loss"]


def adsorption_loss(
    N: Float[Array, "T V S"],
    theta: Float[Array, "T M S"],
    y: Float[Array, "T M"],
    start: State,
    process: Process,
    geometry: Geometry,
    dt: Float[Array, ""],
) -> Float[Array, ""]:
    """Inconsistency of saved moles, coverages and signals with the surfaces and the readout of a process."""
    theta_before = jnp.concatenate([start.theta[None], theta[:-1]])
    y_before = jnp.concatenate([start.y[None], y[:-1]])
    reacted = jax.vmap(_reacted, in_axes=(0, 0, 0, None, None, None))(
        N, theta, theta_before, process.surface, geometry, dt
    )
    # a sensor reads no negative coverage: its transduction has no value there
    signal = jax.vmap(read, in_axes=(0, 0, None, None, None))(
        y_before, jnp.where(theta < 0, 0, theta), process.readout, process.conditions, dt
    )
    simplex = jnp.mean((jnp.sum(theta, axis=2) - 1) ** 2) + jnp.mean(jnp.minimum(theta, 0) ** 2)
    return simplex + jnp.mean((theta - reacted) ** 2) + jnp.mean((y - signal) ** 2)


def _reacted(
    N: Float[Array, "V S"],
    theta: Float[Array, "M S"],
    theta_before: Float[Array, "M S"],
    surface: Surface,
    geometry: Geometry,
    dt: Float[Array, ""],
) -> Float[Array, "M S"]:
    """What the exact reaction makes of the coverages before it, in the gas before it."""
    taken = geometry.on_cells(surface.sites[:, None] * (theta - theta_before)[:, 1:])
    gas = N.at[:, 1:].add(taken)
    return adsorb(jnp.where(gas < 0, 0, gas), _on_simplex(theta_before), surface, geometry, dt)[1]


def _on_simplex(theta: Float[Array, "M S"]) -> Float[Array, "M S"]:
    """Coverages that a reaction can start from; a surface of nothing is empty. The defect itself is counted apart."""
    some = jnp.where(theta < 0, 0, theta)
    total = jnp.sum(some, axis=1, keepdims=True)
    possible = total >= jnp.sqrt(jnp.finfo(theta.dtype).tiny)
    empty = jnp.zeros_like(theta).at[:, 0].set(1)
    return jnp.where(possible, some / jnp.where(possible, total, 1), empty)

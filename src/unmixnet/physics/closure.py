r"""Closure diagnostics: how far a trajectory violates the equations that it was solved from.

    Maxwell–Stefan residual   −gᵢ − Σ_{j≠i} (x̄ⱼJᵢ − x̄ᵢJⱼ)/(c̄Dᵢⱼ)

beside it the mass residual of every cell and species, the ledger of the whole chamber, the simplex error of the
coverages, and the entropy production. Tests, training and reports use the same functions.

**Departures from the paper**: the mass residual contains advection, inlets, outlets and what the surfaces took, since
it could not vanish otherwise; the mass error is that of the odorants, which the carrier would mask; edges
without a gradient are skipped.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import gradient
from unmixnet.physics.state import Reservoirs

__all__ = ["Closure", "entropy_production", "ledger_error", "mass_error", "ms_residual", "simplex_error"]

_FLAT = 1e-12
"""Gradients ‖g‖ [1/m] below which an edge has no Maxwell–Stefan residual."""


class Closure(eqx.Module):
    """The diagnostics of one step."""

    ms_residual: Float[Array, ""]
    """Mean over edges and species of |residual|/‖g‖ [–]."""
    mass_error: Float[Array, ""]
    """Σ|cell residual|/ΣN over odorants [–]."""
    carrier_error: Float[Array, ""]
    """The same for the carrier."""
    simplex_error: Float[Array, ""]
    """Largest departure of a coverage from the simplex [–]."""
    entropy_production: Float[Array, ""]
    """σ/R summed over the chamber [mol/s]; never negative."""


def edge_residual(
    x_tail: Float[Array, " S"],
    x_head: Float[Array, " S"],
    c: Float[Array, ""],
    length: Float[Array, ""],
    J: Float[Array, " S"],
    D: Float[Array, "S S"],
) -> Float[Array, " S"]:
    """Maxwell–Stefan residual of one edge [1/m]; D is the diffusivity in force there."""
    x = 0.5 * (x_tail + x_head)
    R = (1 - jnp.eye(D.shape[0], dtype=D.dtype)) / jnp.where(jnp.eye(D.shape[0]) > 0, 1, D)
    return -gradient(x_tail, x_head, length) - ((R @ x) * J - x * (R @ J)) / c


def ms_residual(
    x: Float[Array, "V S"],
    c: Float[Array, " V"],
    J: Float[Array, "E S"],
    D: Float[Array, "S S"] | Float[Array, "E S S"],
    geometry: Geometry,
) -> Float[Array, ""]:
    """Mean of |residual|/‖g‖ over the edges that have a gradient, all species."""
    tail, head = geometry.tail, geometry.head
    residual = jax.vmap(edge_residual, in_axes=(0, 0, 0, 0, 0, None if D.ndim == 2 else 0))(
        x[tail], x[head], 0.5 * (c[tail] + c[head]), geometry.length, J, D
    )
    g = jax.vmap(gradient)(x[tail], x[head], geometry.length)
    size = jnp.sqrt(jnp.sum(g * g, axis=1) + jnp.finfo(g.dtype).tiny)
    counted = size > _FLAT
    share = jnp.where(counted, jnp.sum(jnp.abs(residual), axis=1) / jnp.where(counted, size, 1), 0)
    return jnp.sum(share) / jnp.maximum(jnp.sum(counted, dtype=g.dtype) * x.shape[1], 1)


def mass_error(
    N_before: Float[Array, "V S"], N_after: Float[Array, "V S"], gains: Float[Array, "V S"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Σ|N_after − N_expected| / max(Σ N_after, Σ N_expected), of the odorants and of the carrier.

    N_expected = N_before + gains, where `gains` are all recorded gains of a cell: diffusion, advection, source, inlet,
    less wall, outlet and adsorbed moles. Where clean air was expected and found the error is zero.
    """
    expected = N_before + gains
    odorant = _relative_error(N_after[:, 1:], expected[:, 1:])
    return odorant, _relative_error(N_after[:, 0], expected[:, 0])


def _relative_error(found: Float[Array, "*any"], expected: Float[Array, "*any"]) -> Float[Array, ""]:
    size = jnp.maximum(jnp.sum(jnp.abs(found)), jnp.sum(jnp.abs(expected)))
    # the derivative of a quotient has the square of what it is divided by, which must not vanish
    counted = size > jnp.sqrt(jnp.finfo(found.dtype).tiny)
    return jnp.where(counted, jnp.sum(jnp.abs(found - expected)) / jnp.where(counted, size, 1), 0)


def ledger_error(
    gas_start: Float[Array, " S"],
    gas: Float[Array, " S"],
    adsorbed_start: Float[Array, " S"],
    adsorbed: Float[Array, " S"],
    reservoirs: Reservoirs,
) -> Float[Array, " S"]:
    """|what is there + what has left − what was there − what has come|, relative to the throughput of each species."""
    come = gas_start + adsorbed_start + reservoirs.source + reservoirs.inlet + reservoirs.boundary
    there = gas + adsorbed + reservoirs.outlet + reservoirs.wall
    through = gas_start + adsorbed_start + reservoirs.source + reservoirs.inlet + jnp.abs(reservoirs.boundary)
    return jnp.abs(there - come) / jnp.where(through > 0, through, 1)


def simplex_error(theta: Float[Array, "M S"]) -> Float[Array, ""]:
    """max(|Σθ − 1|, −min θ)."""
    return jnp.maximum(jnp.max(jnp.abs(jnp.sum(theta, axis=1) - 1)), jnp.max(-jnp.minimum(theta, 0)))


def entropy_production(
    x: Float[Array, "V S"],
    c: Float[Array, " V"],
    J: Float[Array, "E S"],
    D: Float[Array, "S S"] | Float[Array, "E S S"],
    geometry: Geometry,
) -> Float[Array, ""]:
    r"""Σ_e A ℓ Σ_{i<j} x̄ᵢx̄ⱼ/Dᵢⱼ (Jᵢ/x̄ᵢ − Jⱼ/x̄ⱼ)²/c̄ [mol/s]: the friction that the fluxes dissipate, in units of R.

    Absent species dissipate nothing.
    """

    def one_edge(x, c, J, D):
        R = (1 - jnp.eye(D.shape[0], dtype=D.dtype)) / jnp.where(jnp.eye(D.shape[0]) > 0, 1, D)
        w = jnp.where(x > 0, J / jnp.where(x > 0, x, 1), 0)
        gamma = x[:, None] * R * x[None, :]
        return 0.5 * jnp.sum(gamma * (w[:, None] - w[None, :]) ** 2) / c

    tail, head = geometry.tail, geometry.head
    friction = jax.vmap(one_edge, in_axes=(0, 0, 0, None if D.ndim == 2 else 0))(
        0.5 * (x[tail] + x[head]), 0.5 * (c[tail] + c[head]), J, D
    )
    return jnp.sum(geometry.area * geometry.length * friction)

r"""Closure diagnostics: how far a trajectory violates the equations that it was solved from.

    Maxwell–Stefan residual   −gᵢ − Σ_{j≠i} (x̄ⱼJᵢ − x̄ᵢJⱼ)/(c̄Dᵢⱼ)

beside it the mass residual of every cell and species, the ledger of the whole chamber, the simplex error of the
coverages, and the entropy production. Tests, training and reports use the same functions.

**Departures from the paper**: the mass residual contains advection, inlets, outlets and what the surfaces took, since
it could not vanish otherwise; the mass error is that of the odorants, which the carrier would mask; edges
without a gradient are skipped.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import gradient, resistance, times
from unmixnet.physics.state import Reservoirs

__all__ = ["Closure", "entropy_production", "ledger_error", "mass_error", "ms_residual", "simplex_error"]

_FLAT = 1e-12
"""Gradients ‖g‖ [1/m] below which an edge has no Maxwell–Stefan residual."""


class Closure(eqx.Module):
    """The diagnostics of one step."""

    ms_residual: Float[Array, "*B"]
    """Mean over edges and species of |residual|/‖g‖ [–]."""
    mass_error: Float[Array, "*B"]
    """Σ|cell residual|/ΣN over odorants [–]."""
    carrier_error: Float[Array, "*B"]
    """The same for the carrier."""
    simplex_error: Float[Array, "*B"]
    """Largest departure of a coverage from the simplex [–]."""
    entropy_production: Float[Array, "*B"]
    """σ/R summed over the chamber [mol/s]; never negative."""


def edge_residual(
    x_tail: Float[Array, "S E *B"],
    x_head: Float[Array, "S E *B"],
    c: Float[Array, "E *B"],
    length: Float[Array, "E *#b"],
    J: Float[Array, "S E *B"],
    D: Float[Array, "S S"] | Float[Array, "S S #E *#b"],
) -> Float[Array, "S E *B"]:
    """Maxwell–Stefan residual of every edge [1/m]; D is the diffusivity in force there."""
    x, R = 0.5 * (x_tail + x_head), resistance(D)
    return -gradient(x_tail, x_head, length) - (times(R, x) * J - x * times(R, J)) / c


def ms_residual(
    x: Float[Array, "S V *B"],
    c: Float[Array, "V *B"],
    J: Float[Array, "S E *B"],
    D: Float[Array, "S S"] | Float[Array, "S S #E *#b"],
    geometry: Geometry,
) -> Float[Array, "*B"]:
    """Mean of |residual|/‖g‖ over the edges that have a gradient, all species."""
    tail, head = geometry.tail, geometry.head
    residual = edge_residual(x[:, tail], x[:, head], 0.5 * (c[tail] + c[head]), geometry.length, J, D)
    g = gradient(x[:, tail], x[:, head], geometry.length)
    size = jnp.sqrt(jnp.sum(g * g, axis=0) + jnp.finfo(g.dtype).tiny)
    counted = size > _FLAT
    share = jnp.where(counted, jnp.sum(jnp.abs(residual), axis=0) / jnp.where(counted, size, 1), 0)
    return jnp.sum(share, axis=0) / jnp.maximum(jnp.sum(counted, axis=0, dtype=g.dtype) * x.shape[0], 1)


def mass_error(
    N_before: Float[Array, "S V *B"], N_after: Float[Array, "S V *B"], gains: Float[Array, "S V *B"]
) -> tuple[Float[Array, "*B"], Float[Array, "*B"]]:
    """Σ|N_after − N_expected| / max(Σ N_after, Σ N_expected), of the odorants and of the carrier.

    N_expected = N_before + gains, where `gains` are all recorded gains of a cell: diffusion, advection, source, inlet,
    less wall, outlet and adsorbed moles. Where clean air was expected and found the error is zero.
    """
    expected = N_before + gains
    return _relative_error(N_after[1:], expected[1:]), _relative_error(N_after[:1], expected[:1])


def _relative_error(found: Float[Array, "n V *B"], expected: Float[Array, "n V *B"]) -> Float[Array, "*B"]:
    size = jnp.maximum(jnp.sum(jnp.abs(found), axis=(0, 1)), jnp.sum(jnp.abs(expected), axis=(0, 1)))
    # the derivative of a quotient has the square of what it is divided by, which must not vanish
    counted = size > jnp.sqrt(jnp.finfo(found.dtype).tiny)
    return jnp.where(counted, jnp.sum(jnp.abs(found - expected), axis=(0, 1)) / jnp.where(counted, size, 1), 0)


def ledger_error(
    gas_start: Float[Array, "S *B"],
    gas: Float[Array, "S *B"],
    adsorbed_start: Float[Array, "S *B"],
    adsorbed: Float[Array, "S *B"],
    reservoirs: Reservoirs,
) -> Float[Array, "S *B"]:
    """|what is there + what has left − what was there − what has come|, relative to the throughput of each species."""
    come = gas_start + adsorbed_start + reservoirs.source + reservoirs.inlet + reservoirs.boundary
    there = gas + adsorbed + reservoirs.outlet + reservoirs.wall - reservoirs.reaction
    through = gas_start + adsorbed_start + reservoirs.source + reservoirs.inlet + jnp.abs(reservoirs.boundary)
    through = through + jnp.maximum(reservoirs.reaction, 0)
    return jnp.abs(there - come) / jnp.where(through > 0, through, 1)


def simplex_error(theta: Float[Array, "S M *B"]) -> Float[Array, "*B"]:
    """max(|Σθ − 1|, −min θ)."""
    off = jnp.max(jnp.abs(jnp.sum(theta, axis=0) - 1), axis=0, initial=0)
    return jnp.maximum(off, jnp.max(-jnp.minimum(theta, 0), axis=(0, 1), initial=0))


def entropy_production(
    x: Float[Array, "S V *B"],
    c: Float[Array, "V *B"],
    J: Float[Array, "S E *B"],
    scale: Float[Array, "E *#b"],
    D: Float[Array, "S S"] | Float[Array, "S S #E *#b"],
    geometry: Geometry,
) -> Float[Array, "*B"]:
    r"""Σ_e A ℓ Σ_{i<j} x̄ᵢx̄ⱼ/Dᵢⱼ (Jᵢ/x̄ᵢ − Jⱼ/x̄ⱼ)²/c̄ [mol/s]: the friction that the fluxes dissipate, in units of R.

    `scale` multiplies D on each edge. Absent species dissipate nothing.
    """
    tail, head, S = geometry.tail, geometry.head, x.shape[0]
    x, c = 0.5 * (x[:, tail] + x[:, head]), 0.5 * (c[tail] + c[head])
    w = jnp.where(x > 0, J / jnp.where(x > 0, x, 1), 0)
    R = resistance(D).reshape(S, S, *D.shape[2:], *(1,) * (x.ndim + 1 - D.ndim))
    friction = 0.5 * jnp.sum(x[:, None] * R * x[None] * (w[:, None] - w[None]) ** 2, axis=(0, 1)) / c
    return jnp.sum(geometry.area * geometry.length * friction / scale, axis=0)

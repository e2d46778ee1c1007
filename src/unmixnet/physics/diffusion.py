r"""Finite-volume diffusion: Maxwell–Stefan fluxes through every edge, moles conserved, none negative.

    N ← N + Δt B (A J),        N_v ← N_v e^{−κ_wall Δt}

J > 0 runs from tail to head. The dimensionless group is the diffusion number Δt Σ_e A D_max/(ℓ V): at most one half
for an accurate explicit step; `substeps` divides the step where it is larger, and a conservative limiter guards
what remains.

**Departures from the paper**: the sign of the update (as printed, diffusion runs uphill), A_e is the area alone, the
limiter covers every edge of a cell in both orientations, and wall loss is its exact exponential, so that it too
never takes more than the cell holds.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux
from unmixnet.physics.quotient import quotient

__all__ = ["composition", "diffuse", "fluxes", "limit", "wall_loss"]

_SHARE = 0.9
"""η_lim: the largest share of a cell's moles that one explicit step may take away."""


def composition(
    N: Float[Array, "V S"], volume: Float[Array, " V"]
) -> tuple[Float[Array, "V S"], Float[Array, " V"], Bool[Array, " V"]]:
    """Mole fractions x, total concentration c [mol/m³] and whether the cell holds any gas; an empty cell has x = 0."""
    total = jnp.sum(N, axis=1)
    filled = total > 0
    return N / jnp.where(filled, total, 1)[:, None], total / volume, filled


def fluxes(
    N: Float[Array, "V S"], law: MaxwellStefan, geometry: Geometry
) -> tuple[Float[Array, "E S"], Int[Array, ""]]:
    """J of every edge [mol/(m² s)] and the number of edges that fell back to a direct solve.

    No flux passes an edge that touches an empty cell.
    """
    x, c, filled = composition(N, geometry.volume)
    tail, head = geometry.tail, geometry.head
    open_ = (filled[tail] & filled[head])[:, None]
    # an empty cell takes the composition of its neighbour, so that the solve stays regular
    carrier = jnp.zeros_like(x).at[:, 0].set(1)
    x = jnp.where(filled[:, None], x, carrier)
    J, fell_back = edge_flux(law, x[tail], x[head], 0.5 * (c[tail] + c[head]), geometry.length)
    return jnp.where(open_, J, 0), jnp.sum(fell_back & open_[:, 0])


def limit(
    N: Float[Array, "V S"], moles: Float[Array, "E S"], geometry: Geometry, *, closed: bool = True
) -> tuple[Float[Array, "E S"], Bool[Array, ""]]:
    """Scale edge transfers so that no cell loses more than η of any species; Σ over species stays zero.

    Odorants are limited one by one at the cell that gives them and the carrier closes the balance; only if the carrier
    itself is short is the whole edge scaled. Transfers that are not `closed` (the unconstrained ablation) have no
    balance to keep: their carrier is limited like an odorant.
    """
    spare = _allowed(N, geometry.departing(moles))
    kept = moles * jnp.where(moles > 0, spare[geometry.tail], spare[geometry.head])
    if not closed:
        return kept, jnp.any(spare < 1)
    carrier = -jnp.sum(kept[:, 1:], axis=1)
    balanced = kept.at[:, 0].set(carrier)
    short = _allowed(N[:, :1], geometry.departing(balanced[:, :1]))[:, 0]
    factor = jnp.where(carrier > 0, short[geometry.tail], short[geometry.head])
    acted = jnp.any(spare < 1) | jnp.any(short < 1)
    return balanced * factor[:, None], acted


def _allowed(N: Float[Array, "V n"], leaving: Float[Array, "V n"]) -> Float[Array, "V n"]:
    exceeds = (leaving > _SHARE * N) & (leaving > 0)
    return jnp.where(exceeds, quotient(_SHARE * N, jnp.where(exceeds, leaving, 1)), 1)


def diffuse(
    N: Float[Array, "V S"], law: MaxwellStefan, geometry: Geometry, dt: Float[Array, ""]
) -> tuple[Float[Array, "V S"], Float[Array, "E S"], Bool[Array, ""], Int[Array, ""]]:
    """One explicit step: moles after it, the flux that passed, whether the limiter acted, direct solves."""
    J, fallbacks = fluxes(N, law, geometry)
    moles, limited = limit(N, dt * geometry.area[:, None] * J, geometry, closed=law.closed)
    return N + geometry.divergence(moles), moles / (dt * geometry.area[:, None]), limited, fallbacks


def wall_loss(
    N: Float[Array, "V S"], rate: Float[Array, "V S"], dt: Float[Array, ""]
) -> tuple[Float[Array, "V S"], Float[Array, "V S"]]:
    """Moles left in the gas and moles lost to the wall, N (1 − e^{−κΔt})."""
    lost = -jnp.expm1(-rate * dt) * N
    return N - lost, lost

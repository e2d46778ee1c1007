r"""Finite-volume diffusion: Maxwell–Stefan fluxes through every edge, moles conserved, none negative.

    N ← N + Δt B (A J),        N_v ← N_v e^{−κ_wall Δt}

J > 0 runs from tail to head. The dimensionless group is the diffusion number Δt Σ_e A D_max/(ℓ V): at most one half
for an accurate explicit step; `substeps` divides the step where it is larger, and a conservative limiter guards
what remains.

**Departures from the paper**: the sign of the update (as printed, diffusion runs uphill), A_e is the area alone, the
limiter covers every edge of a cell in both orientations, and wall loss is its exact exponential, so that it too
never takes more than the cell holds.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux
from unmixnet.physics.quotient import quotient

__all__ = ["composition", "diffuse", "exchange", "fluxes", "limit", "wall_loss"]

_SHARE = 0.9
"""η_lim: the largest share of a cell's moles that one explicit step may take away."""


def composition(
    N: Float[Array, "S V *B"], volume: Float[Array, "V *#b"]
) -> tuple[Float[Array, "S V *B"], Float[Array, "V *B"], Bool[Array, "V *B"]]:
    """Mole fractions x, total concentration c [mol/m³] and whether the cell holds any gas; an empty cell has x = 0."""
    total = jnp.sum(N, axis=0)
    filled = total > 0
    return N / jnp.where(filled, total, 1), total / volume, filled


def fluxes(
    N: Float[Array, "S V *B"], law: MaxwellStefan, geometry: Geometry
) -> tuple[Float[Array, "S E *B"], Int[Array, "*B"]]:
    """J of every edge [mol/(m² s)] and the number of edges that fell back to a direct solve.

    No flux passes an edge that touches an empty cell.
    """
    x, c, filled = composition(N, geometry.volume)
    tail, head = geometry.tail, geometry.head
    open_ = filled[tail] & filled[head]
    # an empty cell is taken to hold carrier, so that the solve stays regular
    x = jnp.concatenate([jnp.where(filled, x[0], 1)[None], x[1:]])
    x_tail, x_head = geometry.ends(x)
    J, fell_back = edge_flux(law, x_tail, x_head, 0.5 * (c[tail] + c[head]), geometry.length)
    return jnp.where(open_, J, 0), jnp.sum(fell_back & open_, axis=0, dtype=jnp.int32)


def limit(
    N: Float[Array, "S V *B"], moles: Float[Array, "S E *B"], geometry: Geometry, *, closed: bool = True
) -> tuple[Float[Array, "S E *B"], Bool[Array, "*B"]]:
    """Scale edge transfers so that no cell loses more than η of any species; Σ over species stays zero.

    Odorants are limited one by one at the cell that gives them and the carrier closes the balance; only if the carrier
    itself is short is the whole edge scaled. Transfers that are not `closed` (the unconstrained ablation) have no
    balance to keep: their carrier is limited like an odorant.
    """
    tail, head = geometry.tail, geometry.head
    spare = _allowed(N, geometry.departing(moles))
    kept = moles * jnp.where(moles > 0, spare[:, tail], spare[:, head])
    if not closed:
        return kept, jnp.any(spare < 1, axis=(0, 1))
    carrier = -jnp.sum(kept[1:], axis=0)
    short = _allowed(N[:1], geometry.departing(carrier[None]))[0]
    factor = jnp.where(carrier > 0, short[tail], short[head])
    # a cell without carrier may be asked for what rounding leaves of it; that stops no odorant
    total = jnp.sum(N, axis=0)
    rounding = 4 * N.shape[0] * jnp.finfo(N.dtype).eps * jnp.where(carrier > 0, total[tail], total[head])
    stopped = (factor < 1) & (jnp.abs(carrier) > rounding)
    acted = jnp.any(spare[1:] < 1, axis=(0, 1)) | jnp.any(stopped, axis=0)
    return jnp.concatenate([(carrier * factor)[None], kept[1:] * jnp.where(stopped, factor, 1)]), acted


def exchange(
    N: Float[Array, "S V *B"],
    moles: Float[Array, "S E *B"],
    geometry: Geometry,
    *,
    closed: bool = True,
    share: float = _SHARE,
) -> tuple[Float[Array, "S V *B"], Float[Array, "S E *B"], Bool[Array, "*B"]]:
    """Moles after transfers through the edges, and these transfers: limited in the samples where a cell would lose
    more than a `share` of a species, which the third says.
    """
    after = N + geometry.divergence(moles)
    rounding = 16 * jnp.finfo(N.dtype).eps
    short = jnp.any(after < (1 - share - rounding) * N, axis=(0, 1))
    after = jnp.where(after < 0, 0, after)

    def limited(after, moles):
        kept, acted = limit(N, moles, geometry, closed=closed)
        kept = jnp.where(short, kept, moles)
        return jnp.where(short, N + geometry.divergence(kept), after), kept, short & acted

    def free(after, moles):
        return after, moles, jnp.zeros_like(short)

    return jax.lax.cond(jnp.any(short), limited, free, after, moles)


def _allowed(N: Float[Array, "n V *B"], leaving: Float[Array, "n V *B"]) -> Float[Array, "n V *B"]:
    exceeds = (leaving > _SHARE * N) & (leaving > 0)
    return jnp.where(exceeds, quotient(_SHARE * N, jnp.where(exceeds, leaving, 1)), 1)


def diffuse(
    N: Float[Array, "S V *B"], law: MaxwellStefan, geometry: Geometry, dt: Float[Array, ""]
) -> tuple[Float[Array, "S V *B"], Float[Array, "S E *B"], Bool[Array, "*B"], Int[Array, "*B"]]:
    """One explicit step: moles after it, the flux that passed, whether the limiter acted, direct solves."""
    J, fallbacks = fluxes(N, law, geometry)
    after, moles, limited = exchange(N, dt * geometry.area * J, geometry, closed=law.closed)
    return after, moles / (dt * geometry.area), limited, fallbacks


def wall_loss(
    N: Float[Array, "S V *B"], rate: Float[Array, "S V *#b"], dt: Float[Array, ""]
) -> tuple[Float[Array, "S V *B"], Float[Array, "S V *B"]]:
    """Moles left in the gas and moles lost to the wall, N (1 − e^{−κΔt})."""
    lost = -jnp.expm1(-rate * dt) * N
    return N - lost, lost

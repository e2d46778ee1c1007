r"""Conservation: every mole of odorant that has come is somewhere.

    L_cons = ⟨ Σᵢ |thereᵢ − comeᵢ| / Σᵢ throughᵢ ⟩,    i ≥ 1, mean over steps
    there = gas + adsorbed + outlet + wall,    come = start + source + inlet + boundary

all in moles of the whole chamber; `through` is what has come, counted without sign. Zero to rounding for every flux
that the solver can take, the unconstrained one included, since what leaves a cell through an edge enters the next; it
bites where messages are not antisymmetric or where negative moles are cut off.

**Departure from the paper**: the odorants only, because the carrier hides everything.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.state import Reservoirs, State
from unmixnet.training.losses.ratio import ratio

__all__ = ["conservation_loss"]


def conservation_loss(
    N: Float[Array, "T V S"],
    theta: Float[Array, "T M S"],
    reservoirs: Reservoirs,
    start: State,
    sites: Float[Array, " M"],
) -> Float[Array, ""]:
    """Relative imbalance of the odorants, from what a rollout saves and the state that it began with."""
    # a saved state that is continued brings its reservoirs along
    moved: Reservoirs = jax.tree.map(jnp.subtract, reservoirs, start.reservoirs)
    had = _moles(start.N, start.theta, sites)
    have = jax.vmap(_moles, in_axes=(0, 0, None))(N, theta, sites)
    come = had + moved.source + moved.inlet + moved.boundary
    through = had + moved.source + moved.inlet + jnp.abs(moved.boundary)
    imbalance = jnp.abs(have + moved.outlet + moved.wall - come)
    return jnp.mean(ratio(jnp.sum(imbalance[:, 1:], axis=1), jnp.sum(through[:, 1:], axis=1)))


def _moles(N: Float[Array, "V S"], theta: Float[Array, "M S"], sites: Float[Array, " M"]) -> Float[Array, " S"]:
    """Moles of each species in the gas and on the surfaces; entry 0 of θ is the empty site and is not looked at."""
    return jnp.sum(N, axis=0) + sites @ theta

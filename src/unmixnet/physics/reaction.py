r"""Reactions in the gas: odorants that decay, form or turn into one another.

    dN_i/dt = V r_i(c),    c = N/V the concentrations of the odorants in a cell

r [mol/(m³ s)] is a law of the user's own: a module with the two members of `Reaction`. The carrier does not react.
Where a stage would use up more of an odorant than its cell holds, all rates of that cell are scaled back together, so
that the proportions in which things turn into one another stay. The dimensionless group is Δt times the fastest rate
at which an odorant is used up, `fastest`; it counts towards the stages of a step.

**Departure from the paper**: it has no reactions.
"""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.physics.conditions import Conditions
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.quotient import quotient

__all__ = ["FirstOrder", "Reaction", "react"]


@runtime_checkable
class Reaction(Protocol):
    """What a reaction law has."""

    @property
    def fastest(self) -> Float[Array, "*#b"]:
        """The fastest rate at which an odorant is used up, −r/c [1/s]."""
        ...

    def rate(self, c: Float[Array, "K V *B"], conditions: Conditions) -> Float[Array, "K V *B"]:
        """r of every odorant in every cell [mol/(m³ s)]."""
        ...


class FirstOrder(eqx.Module):
    """Decay and conversion of first order, r_i = Σ_j k_ij c_j − Σ_j k_ji c_i − d_i c_i."""

    k: Float[Array, "K K *#b"]
    """k_ij [1/s], how fast j turns into i; the diagonal is ignored."""
    decay: Float[Array, "K *#b"]
    """d_i [1/s], into something that nothing follows."""

    @property
    def fastest(self) -> Float[Array, "*#b"]:
        """Of the odorant that goes soonest."""
        return jnp.max(jnp.sum(self._turnover(), axis=0) + self.decay, axis=0)

    def rate(self, c: Float[Array, "K V *B"], conditions: Conditions) -> Float[Array, "K V *B"]:
        """Gains less losses."""
        k = self._turnover()
        gained = jnp.sum(k[:, :, None] * c[None], axis=1)
        return gained - (jnp.sum(k, axis=0) + self.decay)[:, None] * c

    def _turnover(self) -> Float[Array, "K K *#b"]:
        K = self.k.shape[0]
        return jnp.where(jnp.eye(K, dtype=bool).reshape(K, K, *(1,) * (self.k.ndim - 2)), 0, self.k)


def react(
    N: Float[Array, "S V *B"],
    before: Float[Array, "S V *B"],
    reaction: Reaction | None,
    conditions: Conditions,
    geometry: Geometry,
    dt: Float[Array, ""],
) -> tuple[Float[Array, "S V *B"], Float[Array, "S V *B"], Bool[Array, "*B"]]:
    """N and what reacts in Δt at the concentrations of `before`; what was made; whether a cell ran short."""
    if reaction is None:
        return N, jnp.zeros_like(N), jnp.zeros(N.shape[2:], bool)
    c = before[1:] / geometry.volume
    made = dt * geometry.volume * reaction.rate(c, conditions)
    made = jnp.where(geometry.fixed, 0, made)
    short = -made > N[1:]
    share = jnp.min(jnp.where(short, quotient(N[1:], jnp.where(short, -made, 1)), 1), axis=0)
    made = jnp.concatenate([jnp.zeros_like(N[:1]), share * made])
    left = N + made
    # share·made may exceed what is there by a rounding
    return jnp.where(left < 0, 0, left), made, jnp.any(short, axis=(0, 1))

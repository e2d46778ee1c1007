r"""Networks over pairs: a number for every (sensor, species), and a symmetric one for every (species, species).

sensor–species    W GELU(U r_i + V mat_m) + r_iᵀ B mat_m
species–species   W GELU(U (r_i + r_j) + V (r_i ∘ r_j))       symmetric by construction
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.attention import dense

__all__ = ["SensorSpecies", "SpeciesSpecies"]


class SensorSpecies(eqx.Module):
    """`out` numbers for every sensor and species."""

    U: eqx.nn.Linear
    V: eqx.nn.Linear
    W: eqx.nn.Linear
    B: Float[Array, "out p p"]
    """The bilinear part lets every entry of the table be set by itself."""

    @classmethod
    def of(cls, embedding: int, hidden: int, out: int, key: PRNGKeyArray) -> "SensorSpecies":
        """Draw the layers."""
        a, b, c, d = jax.random.split(key, 4)
        return cls(
            eqx.nn.Linear(embedding, hidden, key=a),
            eqx.nn.Linear(embedding, hidden, use_bias=False, key=b),
            eqx.nn.Linear(hidden, out, key=c),
            jax.random.normal(d, (out, embedding, embedding)) * 0.3 / embedding,
        )

    def __call__(self, r: Float[Array, "K p"], mat: Float[Array, "M p"]) -> Float[Array, "M K out"]:
        """The table."""
        hidden = jax.nn.gelu(dense(self.U, r)[None] + dense(self.V, mat)[:, None])
        return dense(self.W, hidden) + jnp.einsum("kp,opq,mq->mko", r, self.B, mat)


class SpeciesSpecies(eqx.Module):
    """One number for every unordered pair of species."""

    U: eqx.nn.Linear
    V: eqx.nn.Linear
    W: eqx.nn.Linear

    @classmethod
    def of(cls, embedding: int, hidden: int, key: PRNGKeyArray) -> "SpeciesSpecies":
        """Draw the layers."""
        a, b, c = jax.random.split(key, 3)
        return cls(
            eqx.nn.Linear(embedding, hidden, key=a),
            eqx.nn.Linear(embedding, hidden, use_bias=False, key=b),
            eqx.nn.Linear(hidden, 1, key=c),
        )

    def __call__(self, r: Float[Array, "S p"]) -> Float[Array, "S S"]:
        """The symmetric table."""
        together, product = r[:, None] + r[None], r[:, None] * r[None]
        return dense(self.W, jax.nn.gelu(dense(self.U, together) + dense(self.V, product)))[..., 0]

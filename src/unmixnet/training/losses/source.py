r"""Entropy of an inferred source place: a source is somewhere, not everywhere.

    S = −Σ_v p ln p

p the distribution over cells; 0 for one cell, ln V for none in particular.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["source_entropy"]


def source_entropy(p_src: Float[Array, " V"]) -> Float[Array, ""]:
    """Entropy in nats; a cell that is excluded stays excluded, with a zero derivative instead of an infinite one."""
    some = p_src > 0
    return -jnp.sum(jnp.where(some, p_src * jnp.log(jnp.where(some, p_src, 1)), 0))

"""Dropout and stochastic depth that are drawn with a key and absent without one."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["drop", "skip", "split"]


def drop(x: Float[Array, "*shape"], rate: float, key: PRNGKeyArray | None) -> Float[Array, "*shape"]:
    """Set entries to zero with probability `rate` and scale the others by 1/(1 − rate); x itself without a key."""
    if key is None:
        return x
    kept = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), 0)


def skip(
    before: Float[Array, "*shape"], after: Float[Array, "*shape"], rate: float, key: PRNGKeyArray | None
) -> Float[Array, "*shape"]:
    """Leave out a whole block with probability `rate`: what went into it, or else what came out of it, unscaled."""
    return after if key is None else jnp.where(jax.random.bernoulli(key, rate), before, after)


def split(key: PRNGKeyArray | None, n: int) -> list[PRNGKeyArray | None]:
    """Split into n independent keys, or n times None."""
    return [None] * n if key is None else list(jax.random.split(key, n))

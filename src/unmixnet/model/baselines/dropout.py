"""Dropout and stochastic depth that are drawn with a key and absent without one."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["drop", "skip", "split"]


def drop(x: Float[Array, "*shape"], rate: float, key: PRNGKeyArray | None) -> Float[Array, "*shape"]:
    """Set entries to zero with probability `rate`, to the nearest 1/256, and scale the others so that their mean stays.

    One byte is drawn for each entry: with a word for each, a transformer spends half of its training on drawing.
    Without a key it is x itself.
    """
    if key is None:
        return x
    dropped = round(256 * rate)
    words = jax.random.bits(key, (-(-x.size // 4),), jnp.uint32)
    drawn = jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(-1)[: x.size].reshape(x.shape)
    return jnp.where(drawn >= dropped, x * (256 / (256 - dropped)), 0)


def skip(
    before: Float[Array, "*shape"], after: Float[Array, "*shape"], rate: float, key: PRNGKeyArray | None
) -> Float[Array, "*shape"]:
    """Leave out a whole block with probability `rate`: what went into it, or else what came out of it, unscaled."""
    return after if key is None else jnp.where(jax.random.bernoulli(key, rate), before, after)


def split(key: PRNGKeyArray | None, n: int) -> list[PRNGKeyArray | None]:
    """Split into n independent keys, or n times None."""
    return [None] * n if key is None else list(jax.random.split(key, n))

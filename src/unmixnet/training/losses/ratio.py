"""A ratio that is zero, with a zero derivative, where there is nothing to compare with."""

import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["ratio"]


def ratio(part: Float[Array, "*n"], whole: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """part/whole, or 0 where the whole is too small to be squared: the derivative of 1/w is −1/w²."""
    some = whole >= jnp.sqrt(jnp.finfo(whole.dtype).tiny)
    return jnp.where(some, part / jnp.where(some, whole, 1), 0)

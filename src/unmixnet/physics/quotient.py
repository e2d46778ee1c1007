r"""A quotient of small numbers with a derivative that does not underflow.

    ∂(a/b)/∂b = −(a/b)/b,    which automatic differentiation writes as −a/b²

Moles of a trace are 1e-20 and less: b² is zero in single precision, and zero times infinity is not a number. In units
of b itself nothing is out of range.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["quotient"]


def quotient(a: Float[Array, "*n"], b: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """a/b for b > 0; zero where b is subnormal, which a processor may flush to zero."""
    unit = jax.lax.stop_gradient(jnp.maximum(b, jnp.finfo(b.dtype).tiny))
    counts = unit == b
    return jnp.where(counts, (a / unit) / jnp.where(counts, b / unit, 1), 0)

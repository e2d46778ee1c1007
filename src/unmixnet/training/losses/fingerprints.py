r"""Incoherence of fingerprints: pure components that look alike cannot be told apart (Theorem 1).

    L_ident = 2/(K(K−1)) Σ_{i<j} cos²(Hᵢ − H̄, Hⱼ − H̄)

Hᵢ the response to pure component i, all sensors and times in one vector of length P; H̄ the mean of all, which every
component shares. Raw responses of metal-oxide sensors are nearly parallel, so what distinguishes them is what is left
without H̄. Centred fingerprints sum to zero, hence L_ident ≥ 1/(K−1)², reached by a regular simplex such as orthogonal
responses of equal size; as they are, orthogonal responses give 0.

**Departures from the paper**: the mean over pairs, so that λ_id does not depend on K, and the common mode removed.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["incoherence_loss"]


def incoherence_loss(H: Float[Array, "K P"], *, centre: bool = True) -> Float[Array, ""]:
    """Mean cos² over pairs, between 0 and 1; a component without a trace of its own is confused with every other.

    Two fingerprints without their mean are opposite whatever they are, so that with K = 2 nothing is removed.
    """
    K = H.shape[0]
    if K < 2:
        return jnp.zeros((), H.dtype)
    limits, own = jnp.finfo(H.dtype), H
    least = jnp.sqrt(limits.tiny)
    if centre and K > 2:
        own = H - jnp.mean(H, axis=0)
        # what is left of equal fingerprints is rounding
        least = jnp.maximum(least, 8 * limits.eps * jnp.max(jnp.abs(H)))
    # in units of its own size, which the cosine does not see and its derivative need not
    size = jax.lax.stop_gradient(jnp.max(jnp.abs(own), axis=1, keepdims=True))
    heard = size > least
    own = jnp.where(heard, own / jnp.where(heard, size, 1), 1)
    unit = own / jnp.sqrt(jnp.sum(own * own, axis=1, keepdims=True))
    cos2 = jnp.where(heard & heard.T, (unit @ unit.T) ** 2, 1)
    return jnp.sum(jnp.triu(cos2, 1)) / (K * (K - 1) / 2)

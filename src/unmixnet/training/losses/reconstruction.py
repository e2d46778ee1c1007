r"""Reconstruction: the solver has to play back the recording.

    L_rec = Σ w (Y − Ŷ)² / Σ w

Y recorded and Ŷ reconstructed signal, T × M, in the units of the readout; w an optional weight of every sample.

**Departure from the paper**: a mean instead of a sum, so that λ_rec does not depend on the length of a recording.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.training.losses.ratio import ratio

__all__ = ["reconstruction_loss"]


def reconstruction_loss(
    Y: Float[Array, "T M"], Y_hat: Float[Array, "T M"], weight: Float[Array, "T M"] | None = None
) -> Float[Array, ""]:
    """Mean squared residual; what has weight 0 may hold anything, NaN included."""
    if weight is None:
        return jnp.mean((Y - Y_hat) ** 2)
    residual = jnp.where(weight > 0, Y - Y_hat, 0)
    return ratio(jnp.sum(weight * residual**2), jnp.sum(weight))

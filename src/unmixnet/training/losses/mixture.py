r"""Supervision of what is in the air: which odorants, and in which ratios.

    L_mix = 1/K Σᵢ BCE(σ(lᵢ), zᵢ) + Σᵢ |âᵢ − aᵢ|,    zᵢ = [aᵢ > 0]
    L_class = −Σᵢ aᵢ ln(âᵢ + ε)

l presence logits, â and a predicted and true ratios; ε keeps an excluded class at a finite price.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

__all__ = ["class_loss", "mixture_loss"]


def mixture_loss(z_logits: Float[Array, " K"], a_hat: Float[Array, " K"], a: Float[Array, " K"]) -> Float[Array, ""]:
    """Presence by cross-entropy, ratios by their total absolute error; zero for a sure and right answer."""
    # BCE of a logit l is ln(1 + e^l) if the odorant is absent and ln(1 + e^−l) if it is present
    presence = jax.nn.softplus(jnp.where(a > 0, -z_logits, z_logits))
    return jnp.mean(presence) + jnp.sum(jnp.abs(a_hat - a))


def class_loss(a_hat: Float[Array, " K"], a: Float[Array, " K"], *, epsilon: float = 1e-8) -> Float[Array, ""]:
    """Cross-entropy of class probabilities; a negative probability counts as none."""
    # not by `maximum`, whose derivative is one half at zero: there the push upwards matters most
    return -jnp.sum(a * jnp.log(jnp.where(a_hat < 0, 0, a_hat) + epsilon))

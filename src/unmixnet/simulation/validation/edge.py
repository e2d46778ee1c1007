"""The edge flux of the rollout, called for a mean composition and a gradient."""

import jax.numpy as jnp
import numpy as np

from unmixnet.physics.maxwell_stefan import Form, MaxwellStefan, edge_flux

__all__ = ["flux_of_gradient"]


def flux_of_gradient(
    x: np.ndarray, gradient: np.ndarray, c: float, D: np.ndarray, *, form: Form = "exact", length: float = 0.5
) -> np.ndarray:
    """J [mol/(m² s)] at mean mole fractions x and gradient ∇x [1/m], carrier first."""
    law = MaxwellStefan(jnp.asarray(D), jnp.ones(1, D.dtype), form=form)
    step = 0.5 * length * gradient
    J, _ = edge_flux(law, jnp.asarray(x - step)[None], jnp.asarray(x + step)[None], jnp.full(1, c), jnp.full(1, length))
    return np.asarray(J[0])

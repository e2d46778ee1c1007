r"""Maxwell–Stefan residual of a rollout: do the fluxes obey the law that they claim?

    L_MS = ⟨|−gᵢ − Σ_{j≠i} (x̄ⱼJᵢ − x̄ᵢJⱼ)/(c̄Dᵢⱼ)| / ‖g‖⟩ + ⟨|Σᵢ Jᵢ| / Σᵢ |Jᵢ|⟩

means over steps and edges, the first over species too: the paper's L^c w + g = 0 and x̄ᵀw = 0, both relative. Edges
without a gradient (‖g‖ < 1e-12 / m) have no residual. Zero to rounding for the full solver; not for `fick` (the first
term) and not for `unconstrained` (both).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics import closure
from unmixnet.physics.geometry import Geometry
from unmixnet.training.losses.ratio import ratio

__all__ = ["flux_loss", "flux_residual"]


def flux_loss(ms_residual: Float[Array, " T"], J: Float[Array, "T E S"]) -> Float[Array, ""]:
    """Residual and net flux of a rollout, from `saved.closure.ms_residual` and `saved.J`."""
    net = ratio(jnp.abs(jnp.sum(J, axis=2)), jnp.sum(jnp.abs(J), axis=2))
    return jnp.mean(ms_residual) + jnp.mean(net)


def flux_residual(
    x: Float[Array, "T V S"],
    c: Float[Array, "T V"],
    J: Float[Array, "T E S"],
    D: Float[Array, "S S"] | Float[Array, "E S S"],
    geometry: Geometry,
) -> Float[Array, " T"]:
    """The residual of every step of a trajectory that another model predicts; D is positive and in force there.

    Not for the x that a rollout saves: that is the composition after the step, and the flux belongs to the one that
    diffusion found. The rollout's own closure knows it.
    """
    c = jnp.where(c >= jnp.sqrt(jnp.finfo(c.dtype).tiny), c, 1)  # no gas, no gradient, no residual
    return jax.vmap(lambda x, c, J: closure.ms_residual(x, c, J, D, geometry))(x, c, J)

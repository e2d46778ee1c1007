r"""The encoder with the one formula that single precision spoils written so that it does not: y − μ of a flat trace.

    y − μ = s − s̄,    s = y − y₀

The same number: but μ is rounded in units of the level and s̄ in units of the spread, and what is left is divided by a
small σ. On flat recordings of SmellNet the single-precision encoder is up to 6e-5 from itself in double precision,
nearly all of it from here; sums of another order, as another runtime takes them, would add as much again.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.model.level import _FLOOR, LevelNorm
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["steady"]


class _SteadyNorm(eqx.Module):
    """`LevelNorm`, from differences to the first sample."""

    norm: LevelNorm

    def __call__(self, y: Float[Array, " T"]) -> Float[Array, " T"]:
        """Normalise one trace."""
        step = y - y[0]
        shift = jnp.mean(step)
        centred = step - shift
        sigma = jnp.sqrt(jnp.mean(centred**2) + _FLOOR**2)
        W_1, W_2 = self.norm.W_1, self.norm.W_2
        gamma, beta = W_2(jax.nn.gelu(W_1(jnp.stack([y[0] + shift, jnp.log(sigma)]))))
        return (1 + gamma) * centred / sigma + beta


def steady(model: UnMixNet) -> UnMixNet:
    """The model whose encoder centres its traces so."""
    return eqx.tree_at(lambda m: m.encoder.norm, model, _SteadyNorm(model.encoder.norm))

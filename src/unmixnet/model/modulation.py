r"""Bounded modulation of a global coefficient by the sample.

    k = k_global · exp(s tanh(f(h)))        f starts at zero; s is a setting, s = 0 is a pure global model

Were coefficients free to follow h_Y, the solver could reconstruct any trace from any mixture and closure would
constrain nothing (docs: identifiability).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.attention import dense

__all__ = ["Modulation", "from_zero"]


def from_zero(layer: eqx.nn.Linear) -> eqx.nn.Linear:
    """The layer with all its numbers zero."""
    return jax.tree.map(jnp.zeros_like, layer)


class Modulation(eqx.Module):
    """`out` factors from a conditioning vector."""

    f: eqx.nn.Linear
    strength: float = eqx.field(static=True)

    @classmethod
    def of(cls, width: int, out: int, strength: float, key: PRNGKeyArray) -> "Modulation":
        """Start at factors of one."""
        return cls(from_zero(eqx.nn.Linear(width, out, key=key)), strength)

    def shift(self, h: Float[Array, "*n d"]) -> Float[Array, "*n out"]:
        """s tanh(f(h)), between −s and s."""
        return self.strength * jnp.tanh(dense(self.f, h))

    def __call__(self, h: Float[Array, "*n d"]) -> Float[Array, "*n out"]:
        """exp(s tanh(f(h))), between e^{−s} and e^{s}."""
        return jnp.exp(self.shift(h))

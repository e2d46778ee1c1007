r"""iTransformerLite: every sensor's whole trace is one token, and attention mixes sensors, not time steps.

    X = drop(W_e Yᵀ)                                   M tokens of width d, no positional encoding
    X ← LN(X + A(X)),  X ← LN(X + F(X))                post-norm layers, see `attention`
    X ← LN(X),   logits = W flatten(drop(GELU(X)))

Until the flattening, a permutation of the sensors permutes the tokens and changes nothing else. W_e has one weight per
time step, so a model is bound to its T and can use where in the window something happens.

**Reference**: iTransformer, arXiv 2310.06625, with the classification head of the Time-Series-Library.

**Departures**: "Lite" is this project's choice of sizes (d = d_ff = 128, 4 heads, 2 layers, dropout 0.1). The traces
are not normalised per instance, as in the library's classification head: that would hide the level. No key bias
(`attention`). There is no state per time step: the mean token is repeated.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.interface import Baseline, EncoderLayer, Output, Size, check_window, drop, split

__all__ = ["ITransformer"]


class ITransformerWidths(NamedTuple):
    """Token, width inside F, heads, layers."""

    d: int
    d_ff: int
    heads: int
    layers: int


WIDTHS: dict[Size, ITransformerWidths] = {
    "small": ITransformerWidths(64, 64, 4, 2),
    "paper": ITransformerWidths(128, 128, 4, 2),
}
DROPOUT = 0.1


class ITransformer(Baseline):
    """Attention across sensors.

    Arguments of a call:
        Y: T × M window of traces, with the T and M of `of`.
        key: draws dropout.
    """

    W_e: eqx.nn.Linear
    layers: list[EncoderLayer]
    norm: eqx.nn.LayerNorm
    W: eqx.nn.Linear

    @classmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "ITransformer":
        """Draw a model for windows of exactly T steps of M sensors."""
        check_window(T, M, K)
        n = WIDTHS[size]
        a, b, *keys = jax.random.split(key, 2 + n.layers)
        return cls(
            W_e=eqx.nn.Linear(T, n.d, key=a),
            layers=[EncoderLayer(n.d, n.heads, n.d_ff, rate=DROPOUT, pre_norm=False, key=k) for k in keys],
            norm=eqx.nn.LayerNorm(n.d),
            W=eqx.nn.Linear(M * n.d, K, key=b),
        )

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return self.W.weight.shape[1] // self.W_e.weight.shape[0]

    def tokens(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Float[Array, "M d"]:
        """Sensor tokens before the head."""
        first, *keys = split(key, 1 + len(self.layers))
        X = drop(jax.vmap(self.W_e)(Y.T), DROPOUT, first)
        for layer, k in zip(self.layers, keys, strict=True):
            X = layer(X, key=k)
        return jax.vmap(self.norm)(X)

    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to one window."""
        a, b = split(key, 2)
        X = self.tokens(Y, key=a)
        flat = drop(jax.nn.gelu(X, approximate=False), DROPOUT, b).reshape(-1)
        mean = jnp.mean(X, axis=0)
        return Output(logits=self.W(flat), hidden=jnp.broadcast_to(mean, (Y.shape[0], *mean.shape)))

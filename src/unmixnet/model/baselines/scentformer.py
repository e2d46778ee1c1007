r"""ScentFormerStyle: a pre-norm transformer over time steps, averaged over time.

    X = LN(W_e Y) + P,   P[t, 2k] = sin(t/10000^{2k/d}),   P[t, 2k+1] = cos(t/10000^{2k/d})
    X ← X + A(LN X),  X ← X + F(LN X)                  three layers, no final normalisation, see `attention`
    logits = W₂ drop(GELU(W₁ drop(mean over time of X)))

**Reference**: ScentFormer of SmellNet, arXiv 2506.00239: d = 256, 8 heads, F of width 1024, W₁ to 128, dropout 0.1, as
in its code (mean over time; the paper's text mentions a class token).

**Departures**: the layers are drawn independently (the reference starts them all equal); the contrastive branch with
GC-MS spectra is not part of it; no key bias (`attention`).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.interface import Baseline, EncoderLayer, Output, Size, check_window, drop, split

__all__ = ["ScentFormer", "positions"]


class ScentFormerWidths(NamedTuple):
    """Token, width inside F, heads, layers, width of the head."""

    d: int
    d_ff: int
    heads: int
    layers: int
    head: int


WIDTHS: dict[Size, ScentFormerWidths] = {
    "small": ScentFormerWidths(64, 256, 4, 3, 64),
    "paper": ScentFormerWidths(256, 1024, 8, 3, 128),
}
DROPOUT = 0.1


def positions(T: int, d: int) -> Float[Array, "T d"]:
    """Fixed sine and cosine code P of the time step; d is even."""
    angle = jnp.arange(float(T))[:, None] / 10_000.0 ** (jnp.arange(0.0, d, 2.0) / d)
    return jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1).reshape(T, d)


class ScentFormer(Baseline):
    """Attention across time steps.

    Arguments of a call:
        Y: T × M window of traces, any T.
        key: draws dropout.
    """

    W_e: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    layers: list[EncoderLayer]
    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear

    @classmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "ScentFormer":
        """Draw a model; it takes windows of any length."""
        check_window(T, M, K)
        n = WIDTHS[size]
        a, b, c, *keys = jax.random.split(key, 3 + n.layers)
        return cls(
            W_e=eqx.nn.Linear(M, n.d, key=a),
            norm=eqx.nn.LayerNorm(n.d),
            layers=[EncoderLayer(n.d, n.heads, n.d_ff, rate=DROPOUT, pre_norm=True, key=k) for k in keys],
            W_1=eqx.nn.Linear(n.d, n.head, key=b),
            W_2=eqx.nn.Linear(n.head, K, key=c),
        )

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return int(self.W_e.in_features)

    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to one window."""
        a, b, *keys = split(key, 2 + len(self.layers))
        X = jax.vmap(lambda y: self.norm(self.W_e(y)))(Y)
        X = X + positions(*X.shape).astype(X.dtype)
        for layer, k in zip(self.layers, keys, strict=True):
            X = layer(X, key=k)
        h = jax.nn.gelu(self.W_1(drop(jnp.mean(X, axis=0), DROPOUT, a)), approximate=False)
        return Output(logits=self.W_2(drop(h, DROPOUT, b)), hidden=X)

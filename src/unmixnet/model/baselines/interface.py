"""What every baseline takes and returns, and the attention, transformer layers and dropout that several share."""

import abc
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.errors import ConfigError

__all__ = ["Baseline", "EncoderLayer", "Output", "Size", "attend", "attention", "check_window", "drop", "skip", "split"]


Size = Literal["small", "paper"]
"""`small` has at most 0.3 million parameters; `paper` has the widths of the reference."""


class Output(eqx.Module):
    """Answer to one window."""

    logits: Float[Array, " K"]
    """Softmax of these is the class probability (classification) or the ratios (mixture)."""
    hidden: Float[Array, "T H"]
    """State after each time step, for projections onto physical states; the same at all steps where there is none."""


class Baseline(eqx.Module):
    """A model of ONE window Y (T time steps of M sensors), lifted over a batch by `jax.vmap`."""

    @classmethod
    @abc.abstractmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "Baseline":
        """Draw a model for windows of T steps of M sensors and K classes or components."""

    @property
    @abc.abstractmethod
    def sensor_count(self) -> int:
        """Sensors that a window has."""

    @abc.abstractmethod
    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to a window; with a key dropout is drawn, without one the answer is deterministic."""


def check_window(T: int, M: int, K: int, *, shortest: int = 1) -> None:
    """Refuse windows that a model cannot take."""
    if T < shortest or M < 1 or K < 1:
        raise ConfigError(
            f"a window of {T} steps, {M} sensors and {K} outputs, expected at least {shortest}, 1 and 1",
            remedy="Take longer windows, or check the order of T, M, K",
        )


def drop(x: Float[Array, "*shape"], rate: float, key: PRNGKeyArray | None) -> Float[Array, "*shape"]:
    """Set entries to zero with probability `rate`, to the nearest 1/256, and scale the others so that their mean stays.

    One byte is drawn for each entry: with a word for each, a transformer spends half of its training on drawing.
    Without a key it is x itself.
    """
    if key is None:
        return x
    dropped = round(256 * rate)
    words = jax.random.bits(key, (-(-x.size // 4),), jnp.uint32)
    drawn = jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(-1)[: x.size].reshape(x.shape)
    return jnp.where(drawn >= dropped, x * (256 / (256 - dropped)), 0)


def skip(
    before: Float[Array, "*shape"], after: Float[Array, "*shape"], rate: float, key: PRNGKeyArray | None
) -> Float[Array, "*shape"]:
    """Leave out a whole block with probability `rate`: what went into it, or else what came out of it, unscaled."""
    return after if key is None else jnp.where(jax.random.bernoulli(key, rate), before, after)


def split(key: PRNGKeyArray | None, n: int) -> list[PRNGKeyArray | None]:
    """Split into n independent keys, or n times None."""
    return [None] * n if key is None else list(jax.random.split(key, n))


def attention(width: int, heads: int, rate: float, key: PRNGKeyArray) -> eqx.nn.MultiheadAttention:
    """Attention between vectors of one width, with all biases but that of the keys."""
    return eqx.nn.MultiheadAttention(
        heads, width, use_query_bias=True, use_value_bias=True, use_output_bias=True, dropout_p=rate, key=key
    )


def attend(
    block: eqx.nn.MultiheadAttention,
    queries: Float[Array, "q d"],
    tokens: Float[Array, "n d"],
    key: PRNGKeyArray | None,
) -> Float[Array, "q d"]:
    """Attend from the queries to the tokens, as the block itself does, but with the faster dropout."""

    def heads(project: eqx.nn.Linear, X: Float[Array, "n d"]) -> Float[Array, "n heads e"]:
        return jax.vmap(project)(X).reshape(len(X), block.num_heads, -1)

    Q, K, V = heads(block.query_proj, queries), heads(block.key_proj, tokens), heads(block.value_proj, tokens)
    weights = jax.nn.softmax(jnp.einsum("qhe,nhe->hqn", Q, K) / Q.shape[-1] ** 0.5)
    mixed = jnp.einsum("hqn,nhe->qhe", drop(weights, block.dropout.p, key), V)
    return jax.vmap(block.output_proj)(mixed.reshape(len(queries), -1))


class EncoderLayer(eqx.Module):
    """One encoder layer: self-attention, then a two-layer map of every token.

    Arguments:
        width: d, length of a token.
        heads: number of heads; divides d.
        inner: width between W₁ and W₂.
        rate: dropout.
        pre_norm: order of the normalisations.
    """

    A: eqx.nn.MultiheadAttention
    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear
    norm_1: eqx.nn.LayerNorm
    norm_2: eqx.nn.LayerNorm
    rate: float = eqx.field(static=True)
    pre_norm: bool = eqx.field(static=True)

    def __init__(self, width: int, heads: int, inner: int, *, rate: float, pre_norm: bool, key: PRNGKeyArray) -> None:
        a, b, c = jax.random.split(key, 3)
        self.A = attention(width, heads, rate, a)
        self.W_1 = eqx.nn.Linear(width, inner, key=b)
        self.W_2 = eqx.nn.Linear(inner, width, key=c)
        self.norm_1, self.norm_2 = eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)
        self.rate, self.pre_norm = rate, pre_norm

    def F(self, X: Float[Array, "n d"], key: PRNGKeyArray | None) -> Float[Array, "n d"]:
        """W₂ GELU(W₁ x) for every token."""
        a, b = split(key, 2)
        inner = drop(jax.nn.gelu(jax.vmap(self.W_1)(X), approximate=False), self.rate, a)
        return drop(jax.vmap(self.W_2)(inner), self.rate, b)

    def __call__(self, X: Float[Array, "n d"], *, key: PRNGKeyArray | None = None) -> Float[Array, "n d"]:
        """Tokens after the layer."""
        a, b, c = split(key, 3)
        norm_1, norm_2 = jax.vmap(self.norm_1), jax.vmap(self.norm_2)
        Z = norm_1(X) if self.pre_norm else X
        X = X + drop(attend(self.A, Z, Z, a), self.rate, b)
        if self.pre_norm:
            return X + self.F(norm_2(X), c)
        X = norm_1(X)
        return norm_2(X + self.F(X, c))

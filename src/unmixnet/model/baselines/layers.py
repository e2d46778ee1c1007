"""Attention, transformer layers and dropout that the baselines share."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["EncoderLayer", "attend", "attention", "drop", "skip", "split"]


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

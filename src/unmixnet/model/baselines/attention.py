r"""Multi-head attention and the transformer encoder layer, in its pre-norm and its post-norm order.

    pre-norm    X ← X + A(LN₁ X),      X ← X + F(LN₂ X)
    post-norm   X ← LN₁(X + A(X)),     X ← LN₂(X + F(X))
    F(x) = W₂ GELU(W₁ x)

A is multi-head self-attention softmax(Q Kᵀ/√d) V over the rows of X. Dropout acts on the attention weights, inside F,
and on what A and F add.

**Departure**: keys have no bias. It adds the same number to all logits of a query, softmax does not see it, and its
gradient is zero; the parameter counts are lower by the width, once per attention.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.dropout import drop, split

__all__ = ["EncoderLayer", "attend", "attention"]


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

r"""Attention from queries to tokens, softmax(Q Kᵀ/√d) V in several heads, and the map that follows it.

X ← X + A(LN X, T),    X ← X + W₂ GELU(W₁ LN X)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["Ask", "Attention", "Map", "dense"]


def dense(layer: eqx.nn.Linear, X: Float[Array, "*n d"]) -> Float[Array, "*n e"]:
    """The layer on the last axis, as one matrix product."""
    out = X @ layer.weight.T
    return out if layer.bias is None else out + layer.bias


def norm(X: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
    """Layer norm without parameters: the layer behind it has them."""
    centred = X - jnp.mean(X, axis=-1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


class Attention(eqx.Module):
    """Multi-head attention between sets of any size, batched over leading axes."""

    Q: eqx.nn.Linear
    KV: eqx.nn.Linear
    out: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    @classmethod
    def of(cls, width: int, heads: int, key: PRNGKeyArray) -> "Attention":
        """Draw the layers."""
        a, b, c = jax.random.split(key, 3)
        linear = eqx.nn.Linear
        return cls(linear(width, width, key=a), linear(width, 2 * width, key=b), linear(width, width, key=c), heads)

    def __call__(self, queries: Float[Array, "*n q d"], tokens: Float[Array, "*n t d"]) -> Float[Array, "*n q d"]:
        """What each query finds among the tokens."""
        keys, values = jnp.split(dense(self.KV, tokens), 2, axis=-1)
        Q, K, V = (X.reshape(*X.shape[:-1], self.heads, -1) for X in (dense(self.Q, queries), keys, values))
        logits = jnp.einsum("...qhd,...thd->...hqt", Q, K) / jnp.sqrt(Q.shape[-1]).astype(Q.dtype)
        found = jnp.einsum("...hqt,...thd->...qhd", jax.nn.softmax(logits), V)
        return dense(self.out, found.reshape(*found.shape[:-2], -1))


class Map(eqx.Module):
    """W₂ GELU(W₁ LN x), added to x."""

    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear

    @classmethod
    def of(cls, width: int, key: PRNGKeyArray) -> "Map":
        """Draw the layers; the inner width is twice the outer."""
        a, b = jax.random.split(key)
        return cls(eqx.nn.Linear(width, 2 * width, key=a), eqx.nn.Linear(2 * width, width, key=b))

    def __call__(self, X: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """Map every token."""
        return X + dense(self.W_2, jax.nn.gelu(dense(self.W_1, norm(X))))


class Ask(eqx.Module):
    """Queries ask tokens, then think about it."""

    A: Attention
    F: Map

    @classmethod
    def of(cls, width: int, heads: int, key: PRNGKeyArray) -> "Ask":
        """Draw the layers."""
        a, b = jax.random.split(key)
        return cls(Attention.of(width, heads, a), Map.of(width, b))

    def __call__(self, X: Float[Array, "*n q d"], tokens: Float[Array, "*n t d"]) -> Float[Array, "*n q d"]:
        """Queries after one layer."""
        return self.F(X + self.A(norm(X), norm(tokens)))

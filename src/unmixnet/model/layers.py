"""Layers that the networks share: attention, bounded modulation, networks over pairs, features of the chamber."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.simulation.chamber import Chamber

__all__ = [
    "N_CELL",
    "N_EDGE",
    "Attention",
    "CrossAttention",
    "Map",
    "Modulation",
    "SensorSpecies",
    "SpeciesSpecies",
    "cell_features",
    "dense",
    "edge_features",
    "from_zero",
]


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
        """Attention output of each query."""
        keys, values = jnp.split(dense(self.KV, tokens), 2, axis=-1)
        Q, K, V = (X.reshape(*X.shape[:-1], self.heads, -1) for X in (dense(self.Q, queries), keys, values))
        logits = jnp.einsum("...qhd,...thd->...hqt", Q, K) / jnp.sqrt(Q.shape[-1]).astype(Q.dtype)
        mixed = jnp.einsum("...hqt,...thd->...qhd", jax.nn.softmax(logits), V)
        return dense(self.out, mixed.reshape(*mixed.shape[:-2], -1))


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


class CrossAttention(eqx.Module):
    """Cross-attention of queries over tokens, then a feed-forward map of every query."""

    A: Attention
    F: Map

    @classmethod
    def of(cls, width: int, heads: int, key: PRNGKeyArray) -> "CrossAttention":
        """Draw the layers."""
        a, b = jax.random.split(key)
        return cls(Attention.of(width, heads, a), Map.of(width, b))

    def __call__(self, X: Float[Array, "*n q d"], tokens: Float[Array, "*n t d"]) -> Float[Array, "*n q d"]:
        """Queries after one layer."""
        return self.F(X + self.A(norm(X), norm(tokens)))


def from_zero(layer: eqx.nn.Linear) -> eqx.nn.Linear:
    """The layer with all weights zero."""
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


class SensorSpecies(eqx.Module):
    """`out` numbers for every sensor and species."""

    U: eqx.nn.Linear
    V: eqx.nn.Linear
    W: eqx.nn.Linear
    B: Float[Array, "out p p"]
    """The bilinear part lets every entry of the table be set by itself."""

    @classmethod
    def of(cls, embedding: int, hidden: int, out: int, key: PRNGKeyArray) -> "SensorSpecies":
        """Draw the layers."""
        a, b, c, d = jax.random.split(key, 4)
        return cls(
            eqx.nn.Linear(embedding, hidden, key=a),
            eqx.nn.Linear(embedding, hidden, use_bias=False, key=b),
            eqx.nn.Linear(hidden, out, key=c),
            jax.random.normal(d, (out, embedding, embedding)) * 0.3 / embedding,
        )

    def __call__(self, r: Float[Array, "K p"], mat: Float[Array, "M p"]) -> Float[Array, "K M out"]:
        """The table."""
        hidden = jax.nn.gelu(dense(self.U, r)[:, None] + dense(self.V, mat)[None])
        return dense(self.W, hidden) + jnp.einsum("kp,opq,mq->kmo", r, self.B, mat)


class SpeciesSpecies(eqx.Module):
    """One number for every unordered pair of species."""

    U: eqx.nn.Linear
    V: eqx.nn.Linear
    W: eqx.nn.Linear

    @classmethod
    def of(cls, embedding: int, hidden: int, key: PRNGKeyArray) -> "SpeciesSpecies":
        """Draw the layers."""
        a, b, c = jax.random.split(key, 3)
        return cls(
            eqx.nn.Linear(embedding, hidden, key=a),
            eqx.nn.Linear(embedding, hidden, use_bias=False, key=b),
            eqx.nn.Linear(hidden, 1, key=c),
        )

    def __call__(self, r: Float[Array, "S p"]) -> Float[Array, "S S"]:
        """The symmetric table."""
        together, product = r[:, None] + r[None], r[:, None] * r[None]
        return dense(self.W, jax.nn.gelu(dense(self.U, together) + dense(self.V, product)))[..., 0]


_KINDS = ("source", "gas", "wall", "sensor", "outlet", "fixed")
N_CELL = len(_KINDS) + 1
N_EDGE = 2 * N_CELL + 3


def cell_features(chamber: Chamber) -> np.ndarray:
    """h_v: kind (one of six) and ln(volume / 10 ml), shape (V, 7)."""
    kinds = [[float(cell.kind == kind) for kind in _KINDS] for cell in chamber.cells]
    return np.column_stack([kinds, np.log(chamber.volume_m3 / 1e-5)]).astype(np.float32)


def edge_features(chamber: Chamber) -> np.ndarray:
    """h_e: features of tail and head, ln(length / 2 cm), ln(area / 2 cm²), velocity / (1 cm/s), shape (E, 17)."""
    h, index = cell_features(chamber), chamber.index
    rows = [
        [
            *h[index[edge.tail]],
            *h[index[edge.head]],
            np.log(edge.length_m / 0.02),
            np.log(edge.area_m2 / 2e-4),
            edge.velocity_m_s / 0.01,
        ]
        for edge in chamber.edges
    ]
    return np.array(rows, np.float32).reshape(len(rows), N_EDGE)

r"""Temporal–sensor trunk: the trace of each sensor becomes a token that knows its own past and its neighbours.

A trace is cut into patches; within a sensor the patches attend to each other, across sensors every patch hears the
mean of all sensors at its time; then each sensor pools its patches. All weights are shared between sensors, so any
number of them will do.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.attention import Ask, dense, norm
from unmixnet.model.settings import Shape

__all__ = ["Trunk"]


class Block(eqx.Module):
    """Attend along time within each sensor, then listen to the mean of all sensors."""

    time: Ask
    C: eqx.nn.Linear
    """From the mean over sensors to every sensor."""

    @classmethod
    def of(cls, shape: Shape, key: PRNGKeyArray) -> "Block":
        """Draw the layers."""
        a, b = jax.random.split(key)
        return cls(Ask.of(shape.width, shape.heads, a), eqx.nn.Linear(shape.width, shape.width, key=b))

    def __call__(self, X: Float[Array, "M P d"]) -> Float[Array, "M P d"]:
        """Patches of all sensors after the block."""
        X = X + dense(self.C, norm(jnp.mean(X, axis=0)))
        return self.time(X, X)


class Trunk(eqx.Module):
    """From views of M traces to M tokens."""

    patch: eqx.nn.Linear
    blocks: tuple[Block, ...]
    pool: eqx.nn.Linear
    """Weight of a patch when its sensor pools."""
    rows: int = eqx.field(static=True)
    """Samples in a patch."""

    @classmethod
    def of(cls, shape: Shape, views: int, rows: int, key: PRNGKeyArray) -> "Trunk":
        """Draw the layers, for patches of so many rows and views."""
        a, b, *rest = jax.random.split(key, 2 + shape.blocks)
        patch = eqx.nn.Linear(views * rows, shape.width, key=a)
        return cls(patch, tuple(Block.of(shape, k) for k in rest), eqx.nn.Linear(shape.width, 1, key=b), rows)

    def __call__(self, X: Float[Array, "M T C"]) -> Float[Array, "M d"]:
        """Tokens of the sensors; a rest shorter than a patch, at the start of the window, is left out."""
        M, T, C = X.shape
        count = T // self.rows
        patches = X[:, T - count * self.rows :].reshape(M, count, self.rows * C)
        H = dense(self.patch, patches)
        H = H + _waves(count, H.shape[-1])
        for block in self.blocks:
            H = block(H)
        weight = jax.nn.softmax(dense(self.pool, norm(H)), axis=1)
        return jnp.sum(weight * H, axis=1)


def _waves(count: int, width: int) -> np.ndarray:
    """Place of each patch in the window, as sines and cosines of falling frequency."""
    frequency = 10_000.0 ** (-np.arange(width // 2) / (width // 2))
    angle = np.arange(count)[:, None] * frequency
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)

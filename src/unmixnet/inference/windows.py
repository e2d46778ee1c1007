"""A model on many windows: in chunks of one fixed size, so that every recording uses the same compiled program."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from unmixnet.inference.precision import single_precision
from unmixnet.model.baselines.interface import Baseline, Output
from unmixnet.model.encoder import Inference
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.rollout import Rollout

__all__ = ["chunked", "encode", "reconstruct", "respond", "solve"]

_SHOWN = ("x", "J", "theta", "y", "closure")
"""What an answer shows of a rollout."""
_CHUNK, _SOLVED = 32, 16


def encode(model: UnMixNet, Y: np.ndarray) -> Inference:
    """What the encoder reads from windows of shape (n, T, M); every field gets a first axis n."""
    return chunked(lambda Y: _encode(model, Y), (Y,), _CHUNK)


def respond(model: Baseline, Y: np.ndarray) -> Output:
    """What a baseline answers to windows of shape (n, T, M)."""
    return chunked(lambda Y: _respond(model, Y), (Y,), _CHUNK)


def solve(model: UnMixNet, inference: Inference, Y: np.ndarray) -> Rollout:
    """Rollouts of windows from what was inferred of them, with everything that an answer shows."""
    return chunked(lambda Y, inference: _solve(model, inference, Y), (Y, inference), _SOLVED)


def reconstruct(model: UnMixNet, inference: Inference, Y: np.ndarray) -> np.ndarray:
    """Reconstructed windows, shape (n, steps, M): by the program of `solve`, so that nothing is compiled for it."""
    return chunked(lambda Y, inference: _solve(model, inference, Y).saved.y, (Y, inference), _SOLVED)


def chunked(f: Callable[..., PyTree], trees: tuple[Any, ...], size: int) -> Any:
    """f over chunks of the first axis; the last chunk is filled up with copies of its last row."""
    n = jax.tree.leaves(trees)[0].shape[0]
    parts = []
    with single_precision():
        for start in range(0, n, size):
            rows = np.minimum(np.arange(start, start + size), n - 1)
            part = f(*jax.tree.map(lambda leaf, rows=rows: jnp.asarray(leaf[rows]), trees))
            parts.append(jax.tree.map(np.asarray, part))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:n], *parts)


@eqx.filter_jit
def _encode(model: UnMixNet, Y: Float[Array, "B T M"]) -> Inference:
    return jax.vmap(model)(Y)


@eqx.filter_jit
def _respond(model: Baseline, Y: Float[Array, "B T M"]) -> Output:
    return jax.vmap(model)(Y)


@eqx.filter_jit
def _solve(model: UnMixNet, inference: Inference, Y: Float[Array, "B T M"]) -> Rollout:
    T = Y.shape[1]
    return jax.vmap(lambda i, y: model.reconstruct(i, y[0], T, save=_SHOWN).rollout)(inference, Y)

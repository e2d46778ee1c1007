"""Answers of a model to many windows, in batches of one size so that it compiles once."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from unmixnet.training.objective import predict_ratios

__all__ = ["answers"]

_BATCH = 64


def answers(model: PyTree, windows: Float[np.ndarray, "n T M"]) -> Float[np.ndarray, "n K"]:
    """Ratios (or class probabilities) of windows, in the precision of the model."""
    dtype = next(leaf.dtype for leaf in jax.tree.leaves(model) if eqx.is_inexact_array(leaf))
    count = -(-len(windows) // _BATCH)
    filled = np.resize(windows, (count * _BATCH, *windows.shape[1:])).astype(dtype)
    with jax.enable_x64(dtype == np.float64):
        parts = [np.asarray(_answer(model, jnp.asarray(part))) for part in np.split(filled, count)]
    return np.concatenate(parts)[: len(windows)]


@eqx.filter_jit
def _answer(model: PyTree, windows: Float[Array, "B T M"]) -> Float[Array, "B K"]:
    return jax.vmap(lambda Y: predict_ratios(model, Y))(windows)

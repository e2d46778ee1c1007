"""A model on many windows: one place where it is compiled.

Windows run in chunks of one fixed size, so that every recording uses the same program; `CompiledModel` is the same pair
of programs compiled ahead of time for one window, for a live stream.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from unmixnet.errors import ConfigError
from unmixnet.model.batches import samples_first
from unmixnet.model.encoder import Inference
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.rollout import Rollout

__all__ = [
    "CompiledModel",
    "check_channels",
    "chunked",
    "compile_model",
    "encode",
    "predict_ratios",
    "reconstruct",
    "respond",
    "single_precision",
    "solve",
    "window_ratios",
]

_SHOWN = ("x", "J", "theta", "y", "closure")
"""Quantities of a rollout that an answer shows."""
_CHUNK, _SOLVED, _SCORED = 32, 16, 64
_PRESENT = 30.0
"""Logit of a component that is present."""


def single_precision() -> Any:
    """A context in which jax computes in single precision, so that a model answers the same in every session."""
    return jax.enable_x64(False)


# ---------------------------------------------------------------- many windows


def encode(model: UnMixNet, Y: Float[np.ndarray, "n T M"]) -> Inference:
    """What the encoder infers from windows; every field gets a first axis n."""
    check_channels(model, Y)
    return chunked(lambda Y: _encode(model, Y), (Y,), _CHUNK)


def respond(model: PyTree, Y: Float[np.ndarray, "n T M"]) -> Any:
    """Outputs of a baseline for windows: logits and hidden states."""
    check_channels(model, Y)
    return chunked(lambda Y: _encode(model, Y), (Y,), _CHUNK)


def solve(model: UnMixNet, inference: Inference, Y: Float[np.ndarray, "n T M"]) -> Rollout:
    """Rollouts of windows from what was inferred of them, with everything that an answer shows."""
    check_channels(model, Y)
    return chunked(lambda Y, inference: _solve(model, inference, Y), (Y, inference), _SOLVED)


def reconstruct(model: UnMixNet, inference: Inference, Y: Float[np.ndarray, "n T M"]) -> Float[np.ndarray, "n steps M"]:
    """Reconstructed windows: by the program of `solve`, so that nothing is compiled for it."""
    check_channels(model, Y)
    return chunked(lambda Y, inference: _solve(model, inference, Y).saved.y, (Y, inference), _SOLVED)


def chunked(f: Callable[..., PyTree], trees: tuple[Any, ...], size: int, *, double: bool = False) -> Any:
    """f over chunks of the first axis, in single precision unless `double`; the last chunk repeats its last row."""
    n = jax.tree.leaves(trees)[0].shape[0]
    parts = []
    with jax.enable_x64(double):
        for start in range(0, n, size):
            rows = np.minimum(np.arange(start, start + size), n - 1)
            part = f(*jax.tree.map(lambda leaf, rows=rows: jnp.asarray(leaf[rows]), trees))
            parts.append(jax.tree.map(np.asarray, part))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:n], *parts)


@eqx.filter_jit
def _encode(model: PyTree, Y: Float[Array, "B T M"]) -> Any:
    return jax.vmap(model)(Y)


@eqx.filter_jit
def _solve(model: UnMixNet, inference: Inference, Y: Float[Array, "B T M"]) -> Rollout:
    return _rollouts(model, inference, Y)


def _rollouts(model: UnMixNet, inference: Inference, Y: Float[Array, "B T M"]) -> Rollout:
    """Rollouts of windows, with a first axis of windows in front of time, species and place."""
    run = model.reconstruct_all(inference, Y[:, 0], Y.shape[1], save=_SHOWN).rollout
    return samples_first(run, Y.shape[0])


def check_channels(model: PyTree, Y: Any) -> None:
    """Refuse windows, shape (…, T, M), of another number of channels: some would broadcast and be answered."""
    M = model.sensor_count
    if Y.ndim < 2 or Y.shape[-1] != M:
        raise ConfigError(
            f"windows of shape {Y.shape}, the model takes (windows, rows, {M} channels)",
            remedy=f"Give the {M} channels that the model was trained with, in their order",
        )


# ---------------------------------------------------------------- ratios alone


def predict_ratios(model: PyTree, Y: Float[Array, "T M"]) -> Float[Array, " K"]:
    """Ratios (or class probabilities) of one window."""
    check_channels(model, Y)
    return model(Y).a if isinstance(model, UnMixNet) else jax.nn.softmax(model(Y).logits)


def window_ratios(model: PyTree, windows: Float[np.ndarray, "n T M"]) -> Float[np.ndarray, "n K"]:
    """Ratios (or class probabilities) of windows, in the precision of the model.

    A window's answer does not depend on the others: every chunk has the same size and runs the same program.
    """
    check_channels(model, windows)
    dtype = next(leaf.dtype for leaf in jax.tree.leaves(model) if eqx.is_inexact_array(leaf))
    double = dtype == np.float64
    return chunked(lambda Y: _ratios(model, Y), (np.asarray(windows, dtype),), _SCORED, double=double)


@eqx.filter_jit
def _ratios(model: PyTree, windows: Float[Array, "B T M"]) -> Float[Array, "B K"]:
    return jax.vmap(lambda Y: predict_ratios(model, Y))(windows)


# ---------------------------------------------------------------- one window, compiled ahead of time


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """Encoder and solver for one window; weights are passed in, and a call costs no tracing.

    Arguments:
        window: rows and channels of the window.
        typical: the inference without a trace.
    """

    window: tuple[int, int]
    params: Any
    typical: Inference
    encode: Any
    solve: Any

    def __call__(self, Y: Float[np.ndarray, "T M"]) -> tuple[Inference, Rollout]:
        """What is inferred from a window, and its rollout; with a first axis of one, as NumPy arrays."""
        if Y.shape != self.window:
            raise ConfigError(
                f"a window of shape {Y.shape}, the compiled model takes (rows, channels) = {self.window}",
                remedy="Give the channels of the model in their order, or compile for this length",
            )
        with single_precision():
            window = np.ascontiguousarray(Y[None], np.float32)
            inference = self.encode(self.params, window)
            return jax.device_get((inference, self.solve(self.params, inference, window)))

    def pure(self, k: int, air: Float[np.ndarray, "T M"]) -> Float[np.ndarray, "steps M"]:
        """The trace of component k alone at a typical strength, with unmodulated coefficients.

        Arguments:
            air: a window of clean air.
        """
        K = self.typical.a.shape[0]
        z, a = np.where(np.arange(K) == k, _PRESENT, -_PRESENT), np.eye(K)[k]
        with single_precision():
            pure = eqx.tree_at(
                lambda i: (i.z_logits, i.a), self.typical, (jnp.asarray(z, jnp.float32), jnp.asarray(a, jnp.float32))
            )
            run = self.solve(
                self.params, jax.tree.map(lambda leaf: leaf[None], pure), np.asarray(air[None], np.float32)
            )
            return np.asarray(run.saved.y)[0]


def compile_model(model: UnMixNet, window: int) -> CompiledModel:
    """Compile for windows of one length [rows]."""
    params, static = eqx.partition(model, eqx.is_array)

    def encode(params: Any, Y: jax.Array) -> Inference:
        return jax.vmap(eqx.combine(params, static))(Y)

    def solve(params: Any, inference: Inference, Y: jax.Array) -> Rollout:
        return _rollouts(eqx.combine(params, static), inference, Y)

    with single_precision():
        shape = jax.ShapeDtypeStruct((1, window, model.sensor_count), jnp.float32)
        encoder = jax.jit(encode).lower(params, shape).compile()
        inference = jax.eval_shape(encode, params, shape)
        typical = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model.uninformed())
        solver = jax.jit(solve).lower(params, inference, shape).compile()
        return CompiledModel((window, model.sensor_count), params, typical, encoder, solver)

"""One look of the model at one window: encoder and solver, compiled ahead of time for a batch of one."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.inference.precision import single_precision
from unmixnet.model.encoder import Inference
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.rollout import Rollout

__all__ = ["Look", "compile_look"]

_SHOWN = ("x", "J", "theta", "y", "closure")
_PRESENT = 30.0
"""Logit of a component that is there."""


@dataclass(frozen=True, eq=False)
class Look:
    """The two programs; weights are passed in, and a call costs no tracing."""

    params: Any
    typical: Inference
    encode: Any
    solve: Any

    def __call__(self, Y: np.ndarray) -> tuple[Inference, Rollout]:
        """What is read from a window (T, M), and what is solved; with a first axis of one, as NumPy arrays."""
        with single_precision():
            window = np.ascontiguousarray(Y[None], np.float32)
            inference = self.encode(self.params, window)
            return jax.device_get((inference, self.solve(self.params, inference, window)))

    def pure(self, k: int, air: np.ndarray) -> np.ndarray:
        """The trace of one component alone at a typical strength, by coefficients that nothing modulates, (steps, M).

        Arguments:
            air: a window (T, M) of clean air.
        """
        K = self.typical.a.shape[0]
        z, a = np.where(np.arange(K) == k, _PRESENT, -_PRESENT), np.eye(K)[k]
        with single_precision():
            told = eqx.tree_at(
                lambda i: (i.z_logits, i.a), self.typical, (jnp.asarray(z, jnp.float32), jnp.asarray(a, jnp.float32))
            )
            run = self.solve(
                self.params, jax.tree.map(lambda leaf: leaf[None], told), np.asarray(air[None], np.float32)
            )
            return np.asarray(run.saved.y)[0]


def compile_look(model: UnMixNet, window: int) -> Look:
    """Compile for windows of one length."""
    params, static = eqx.partition(model, eqx.is_array)

    def encode(params: Any, Y: jax.Array) -> Inference:
        return jax.vmap(eqx.combine(params, static))(Y)

    def solve(params: Any, inference: Inference, Y: jax.Array) -> Rollout:
        model = eqx.combine(params, static)
        return jax.vmap(lambda i, y: model.reconstruct(i, y[0], window, save=_SHOWN).rollout)(inference, Y)

    with single_precision():
        shape = jax.ShapeDtypeStruct((1, window, model.materials.shape[0]), jnp.float32)
        read = jax.jit(encode).lower(params, shape).compile()
        found = jax.eval_shape(encode, params, shape)
        typical = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model.uninformed())
        return Look(params, typical, read, jax.jit(solve).lower(params, found, shape).compile())

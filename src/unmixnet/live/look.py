"""One look of the model at one window: encoder and solver as one compiled program."""

from collections.abc import Callable
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

Look = Callable[[np.ndarray], tuple[Inference, Rollout]]
"""From a window (T, M) to what is read and what is solved, with a first axis of one."""


def compile_look(model: UnMixNet, window: int) -> Look:
    """Compile it for windows of one length; weights are passed in, so that models of one structure share the program.

    The program is compiled ahead of time: a call costs no tracing.
    """
    params, static = eqx.partition(model, eqx.is_array)

    def look(params: Any, Y: jax.Array) -> tuple[Inference, Rollout]:
        model = eqx.combine(params, static)
        inference = jax.vmap(model)(Y)
        run = jax.vmap(lambda i, y: model.reconstruct(i, y[0], window, save=_SHOWN).rollout)(inference, Y)
        return inference, run

    with single_precision():
        shape = jax.ShapeDtypeStruct((1, window, model.materials.shape[0]), jnp.float32)
        program = jax.jit(look).lower(params, shape).compile()

    def run(Y: np.ndarray) -> tuple[Inference, Rollout]:
        with single_precision():
            return jax.device_get(program(params, np.ascontiguousarray(Y[None], np.float32)))

    return run

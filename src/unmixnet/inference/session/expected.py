"""What the bundle's physics makes of a label, with coefficients that no recording modulates."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.precision import single_precision
from unmixnet.inference.unmix import solver_of
from unmixnet.inference.windows import solve
from unmixnet.model.encoder import Inference
from unmixnet.recordings.response import Baseline

__all__ = ["STRENGTHS", "expected_traces"]

STRENGTHS = (-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9)
"""Logarithms of the strengths at which it is solved; in between it is interpolated."""
_PRESENT = 30.0
"""Logit of a component that is there."""


def expected_traces(bundle: Bundle, truths: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Solve labels (k, K) at every strength, (k, S, steps, M); by the program that `unmix` uses.

    Of the windows (k, T, M) nothing enters. A sensor starts in clean air; where the odour is there from the first
    row on, it starts where a first solution has settled.
    """
    model = solver_of(bundle)
    k, S = len(truths), len(STRENGTHS)
    with single_precision():
        typical: Inference = model.uninformed()
        many = eqx.tree_at(
            lambda i: (i.z_logits, i.a, i.log_strength),
            jax.tree.map(lambda leaf: jnp.tile(leaf, (k * S,) + (1,) * leaf.ndim), typical),
            (
                jnp.full((k * S, truths.shape[1]), _PRESENT, jnp.float32),
                jnp.asarray(np.repeat(truths, S, axis=0), jnp.float32),
                jnp.asarray(np.tile(STRENGTHS, k), jnp.float32),
            ),
        )
    Y = np.broadcast_to(np.array(bundle.air, np.float32), (k * S, *windows.shape[1:]))
    y = np.asarray(solve(model, many, Y).saved.y)
    if bundle.ready.baseline is not Baseline.RECORDING:
        y = np.asarray(solve(model, many, np.broadcast_to(y[:, -1:], Y.shape)).saved.y)
    return y.reshape(k, S, *y.shape[1:]).astype(float)

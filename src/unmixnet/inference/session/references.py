"""References of a session beside the signals that are expected for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.unmix import solver_of
from unmixnet.model.encoder import Inference
from unmixnet.model.predict import single_precision, solve
from unmixnet.recordings.preprocessing import BaselineMethod
from unmixnet.recordings.recording import Mixture, Recording

__all__ = ["STRENGTHS", "Reference", "expected_traces", "references_of", "traces_of"]


@dataclass(frozen=True, eq=False)
class Reference:
    """A labelled recording of the session; M channels, K components, S strengths.

    Arguments:
        trace: the whole signal, (L, M) [sd of the training signal].
        truth: shares, (K,).
        seen: its first window at the ends of the solver's steps, (steps, M).
        expected: the solver's traces for the label at the strengths of `STRENGTHS`, (S, steps, M).
        level, master: mean signal, and the mean of the expected one at a typical strength, (M,).
    """

    trace: np.ndarray
    truth: np.ndarray
    seen: np.ndarray
    expected: np.ndarray
    level: np.ndarray
    master: np.ndarray


def traces_of(bundle: Bundle, recordings: Sequence[Recording]) -> list[np.ndarray]:
    """Signals at the model's rate."""
    return [bundle.trace(recording).signal for recording in recordings]


def references_of(bundle: Bundle, recordings: Sequence[Recording]) -> list[Reference]:
    """Labelled recordings of the session, each beside what the solver expects of its label."""
    if not recordings:
        return []
    truths = np.stack([_truth(bundle, recording) for recording in recordings])
    traces = traces_of(bundle, recordings)
    window, stride = bundle.spec.window, bundle.spec.settings.stride
    expected = expected_traces(bundle, truths, np.stack([trace[:window] for trace in traces]))
    references = []
    for trace, truth, made in zip(traces, truths, expected, strict=True):
        seen = trace[stride : made.shape[1] * stride + 1 : stride].astype(float)
        typical: np.ndarray = made[STRENGTHS.index(0.0)].mean(axis=0)
        references.append(Reference(trace, truth, seen, made, seen.mean(axis=0), typical))
    return references


def _truth(bundle: Bundle, recording: Recording) -> np.ndarray:
    label: Mixture | None = recording.label
    if label is None:
        raise ConfigError(
            "a reference without a label cannot be used",
            where=recording.path,
            remedy="Label it with what was in front of the sensors, or give it as clean air",
        )
    if unknown := label.support - set(bundle.components):
        raise ConfigError(
            f"the reference holds {', '.join(sorted(unknown))}, which the model {bundle.name} does not have",
            where=recording.path,
            remedy=f"Use a reference made of {', '.join(bundle.components)}",
        )
    return label.vector(bundle.components)


def own_clean_air(bundle: Bundle) -> bool:
    """Whether every recording has its own clean-air baseline, which removes offsets already."""
    return bundle.preprocessing.baseline is BaselineMethod.RECORDING


STRENGTHS = (-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9)
"""Log strengths at which a label is solved; interpolated in between."""
_PRESENT = 30.0
"""Logit of a component that is present."""


def expected_traces(bundle: Bundle, truths: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """Solve labels (k, K) at every strength, (k, S, steps, M); by the program that `unmix` uses.

    Of the windows (k, T, M) only the shape is used. A sensor starts in clean air; where the odour is present from the
    first row on, it starts at the end of a first solution.
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
    Y = np.broadcast_to(np.array(bundle.spec.air, np.float32), (k * S, *windows.shape[1:]))
    y = np.asarray(solve(model, many, Y).saved.y)
    if bundle.preprocessing.baseline is not BaselineMethod.RECORDING:
        y = np.asarray(solve(model, many, np.broadcast_to(y[:, -1:], Y.shape)).saved.y)
    return y.reshape(k, S, *y.shape[1:]).astype(float)

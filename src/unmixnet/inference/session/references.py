"""References of a session beside what the training sessions would have shown for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.session.expected import STRENGTHS, expected_traces
from unmixnet.recordings.recording import Mixture, Recording
from unmixnet.recordings.response import Baseline
from unmixnet.recordings.trace import trace_of

__all__ = ["Reference", "references_of", "traces_of"]


@dataclass(frozen=True, eq=False)
class Reference:
    """A labelled recording of the session; M channels, K components, S strengths.

    Arguments:
        trace: the whole signal, (L, M) [sd of the training signal].
        truth: shares, (K,).
        seen: its first window at the ends of the solver's steps, (steps, M).
        expected: what the bundle's physics makes of the label at the strengths of `STRENGTHS`, (S, steps, M).
        level, master: mean signal, and what it would have been in training, (M,).
    """

    trace: np.ndarray
    truth: np.ndarray
    seen: np.ndarray
    expected: np.ndarray
    level: np.ndarray
    master: np.ndarray


def traces_of(bundle: Bundle, recordings: Sequence[Recording]) -> list[np.ndarray]:
    """Signals at the model's rate."""
    return [trace_of(recording, bundle.ready, bundle.config).signal for recording in recordings]


def references_of(
    bundle: Bundle, recordings: Sequence[Recording], masters: Sequence[Recording] = ()
) -> list[Reference]:
    """Read the references.

    Arguments:
        masters: labelled recordings of training sessions; where one has the recipe of a reference it says what is
            expected of its level, otherwise the solver does.
    """
    if not recordings:
        return []
    truths = np.stack([_truth(bundle, recording) for recording in recordings])
    traces, known = traces_of(bundle, recordings), _levels(bundle, masters)
    window, stride = bundle.config.window, bundle.config.settings.stride
    expected = expected_traces(bundle, truths, np.stack([trace[:window] for trace in traces]))
    found = []
    for trace, truth, made in zip(traces, truths, expected, strict=True):
        seen = trace[stride : made.shape[1] * stride + 1 : stride].astype(float)
        typical: np.ndarray = made[STRENGTHS.index(0.0)].mean(axis=0)
        master = np.asarray(known.get(_key(truth), typical), float)
        found.append(Reference(trace, truth, seen, made, seen.mean(axis=0), master))
    return found


def _levels(bundle: Bundle, masters: Sequence[Recording]) -> dict[tuple[float, ...], np.ndarray]:
    """Mean signal of each recipe in the training sessions."""
    window, stride = bundle.config.window, bundle.config.settings.stride
    groups: dict[tuple[float, ...], list[np.ndarray]] = {}
    for recording, trace in zip(masters, traces_of(bundle, masters), strict=True):
        seen = trace[stride:window:stride]
        groups.setdefault(_key(_truth(bundle, recording)), []).append(seen.mean(axis=0))
    return {recipe: np.mean(levels, axis=0) for recipe, levels in groups.items()}


def _key(truth: np.ndarray) -> tuple[float, ...]:
    return tuple(np.round(truth, 3).tolist())


def _truth(bundle: Bundle, recording: Recording) -> np.ndarray:
    label: Mixture | None = recording.label
    if label is None:
        raise ConfigError(
            "a reference without a label says nothing",
            where=recording.path,
            remedy="Say what was in front of the sensors, or give it as clean air",
        )
    if unknown := label.support - set(bundle.components):
        raise ConfigError(
            f"the reference holds {', '.join(sorted(unknown))}, which the model {bundle.name} does not know",
            where=recording.path,
            remedy=f"Use a reference made of {', '.join(bundle.components)}",
        )
    return label.vector(bundle.components)


def own_clean_air(bundle: Bundle) -> bool:
    """Whether every recording brings its own clean-air level, so that offsets are gone already."""
    return bundle.ready.baseline is Baseline.RECORDING

"""The window that the model is shown, cut out of the bins."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unmixnet.recordings.response import Baseline

if TYPE_CHECKING:
    from unmixnet.live.engine import Engine, EngineState

__all__ = ["FIRST_ANSWER", "Frame", "frame_of"]

FIRST_ANSWER = 1 / 3
"""Share of a window after which an exposure is answered; before it an answer would be a guess."""
_BRIDGED_S = 2.0
"""Gaps up to this long are bridged by a straight line and not counted as missing."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A window at the model's rate.

    Arguments:
        signal: shape (window, M), standardised and calibrated; where it is not heard yet its last row is held.
        time_s: of each row.
        baseline: clean-air readings that it is relative to; None where there are none.
        heard: rows that were heard.
        over_s: time since the frame was full [s]; negative before.
        missing: largest share of a channel's readings that was missing; `worst`: that channel.
    """

    signal: np.ndarray
    time_s: np.ndarray
    baseline: np.ndarray | None
    heard: int
    over_s: float
    missing: float
    worst: str


def frame_of(engine: "Engine", state: "EngineState") -> Frame:
    """The window that starts where the odour came, or the last one."""
    bins, now, window = state.bins, state.exposure, engine.window
    anchored = engine.anchored and now.onset is not None
    oldest = bins.closed - bins.kept
    # what the sensors did before they settled says nothing about the air
    begin = max(now.onset or 0, oldest) if anchored else max(bins.closed - window, oldest, now.since)
    end = min(begin + window, bins.closed)
    rows = slice(begin - bins.closed + len(bins.g), end - bins.closed + len(bins.g))
    g, missing = _filled(bins.g[rows], engine.rate_Hz)
    baseline = _baseline(engine, state, bins.first[rows])
    signal = (engine.scale.respond(g, baseline) - np.array(engine.bundle.ready.mean)) / np.array(engine.bundle.ready.sd)
    if engine.session is not None:
        signal = engine.session.apply(signal)
    heard, time_s = len(signal), bins.time_s[rows]
    if heard < window:
        signal, time_s = _stretched(signal, time_s, window, engine.rate_Hz, before=not anchored)
    over_s = (bins.closed - begin - window) / engine.rate_Hz
    worst = int(np.argmax(missing)) if len(missing) else 0
    name = engine.bundle.ready.channels[worst]
    return Frame(signal.astype(np.float32), time_s, baseline, heard, over_s, float(missing[worst]), name)


def _baseline(engine: "Engine", state: "EngineState", first: np.ndarray) -> np.ndarray | None:
    """As the preprocessing takes it: the first row, or what the bundle brings along; in an exposure its first row."""
    if engine.bundle.ready.baseline is not Baseline.RECORDING:
        return engine.baseline()
    if state.exposure.onset is not None:
        return state.exposure.clean
    return np.array([column[np.argmax(np.isfinite(column))] for column in first.T])


def _filled(g: np.ndarray, rate_Hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Without NaN, along straight lines; and the share of each channel that was missing for longer than is bridged."""
    hole = ~np.isfinite(g)
    if not hole.any():
        return g, np.zeros(g.shape[1])
    filled, rows, lost = g.copy(), np.arange(len(g)), np.zeros(g.shape[1])
    for m in np.flatnonzero(hole.any(axis=0)):
        known = ~hole[:, m]
        if not known.any():
            filled[:, m], lost[m] = 0.0, 1.0
            continue
        filled[:, m] = np.interp(rows, rows[known], g[known, m])
        lost[m] = _long_holes(hole[:, m], max(1, round(_BRIDGED_S * rate_Hz))) / len(g)
    return filled, lost


def _long_holes(hole: np.ndarray, bridged: int) -> int:
    """Rows in holes that are longer than what is bridged."""
    edges = np.diff(np.concatenate([[0], hole.astype(int), [0]]))
    lengths = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)
    return int(lengths[lengths > bridged].sum())


def _stretched(
    signal: np.ndarray, time_s: np.ndarray, window: int, rate_Hz: float, *, before: bool
) -> tuple[np.ndarray, np.ndarray]:
    """A whole window: the first row held before it in clean air, the last row held after it in an exposure."""
    extra = window - len(signal)
    steps = np.arange(1, extra + 1) / rate_Hz
    if before:
        return np.concatenate([np.repeat(signal[:1], extra, axis=0), signal]), np.concatenate(
            [time_s[0] - steps[::-1], time_s]
        )
    return np.concatenate([signal, np.repeat(signal[-1:], extra, axis=0)]), np.concatenate([time_s, time_s[-1] + steps])

"""Samples to bins at the model's rate, and bins to the window that the model sees; causal, in bounded memory.

What `recordings.trace` does with a whole recording is done here sample by sample: g(y) of each reading is averaged over
a bin, the response to the baseline is taken of the means, and gaps are filled along straight lines.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Bins", "LiveWindow", "filled", "start_bins", "stretched"]

_SLACK = 1e-6
"""Share of a bin by which a time stamp may be early: 0.3 is stored as 0.29999…"""


@dataclass(frozen=True, eq=False)
class Bins:
    """The last C closed bins of M channels, the newest last, and the one that is open.

    Arguments:
        g: means of g(y), (C, M); first: first reading of each bin, (C, M); time_s: mean time of the samples, (C,).
        closed: number of bins that were closed so far; the newest closed bin is number `closed` − 1.
        origin_s: time of the first sample; None before it.
        last_s: time of the newest sample.
        total, count, opening, clock: of the open bin: sums, numbers and first readings, (sum of times, samples).
    """

    rate_Hz: float
    g: np.ndarray
    first: np.ndarray
    time_s: np.ndarray
    closed: int
    origin_s: float | None
    last_s: float
    total: np.ndarray
    count: np.ndarray
    opening: np.ndarray
    clock: tuple[float, int]

    @property
    def kept(self) -> int:
        """Closed bins that are in memory."""
        return min(self.closed, len(self.g))

    def add(self, time_s: float, readings: np.ndarray, g: np.ndarray) -> "Bins":
        """The bins after one more sample; one that is older than the last is left out."""
        origin = time_s if self.origin_s is None else self.origin_s
        if time_s < self.last_s or not math.isfinite(time_s):
            return self
        place = math.floor((time_s - origin) * self.rate_Hz + _SLACK)
        bins = self if place <= self.closed else self._close(place - self.closed, origin)
        known = np.isfinite(g)
        fresh = known & (bins.count == 0)
        return replace(
            bins,
            origin_s=origin,
            last_s=time_s,
            total=bins.total + np.where(known, g, 0),
            count=bins.count + known,
            opening=np.where(fresh, readings, bins.opening),
            clock=(bins.clock[0] + time_s, bins.clock[1] + 1),
        )

    def _close(self, number: int, origin: float) -> "Bins":
        """Close the open bin and the empty ones after it."""
        C, M = self.g.shape
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.total / self.count
        empty = min(number - 1, C)
        hole = np.full((empty, M), np.nan)
        centre = origin + (np.arange(self.closed + number - empty, self.closed + number) + 0.5) / self.rate_Hz
        when = self.clock[0] / self.clock[1] if self.clock[1] else origin + (self.closed + 0.5) / self.rate_Hz
        return replace(
            self,
            g=np.concatenate([self.g, mean[None], hole])[-C:],
            first=np.concatenate([self.first, self.opening[None], hole])[-C:],
            time_s=np.concatenate([self.time_s, [when], centre])[-C:],
            closed=self.closed + number,
            total=np.zeros(M),
            count=np.zeros(M, int),
            opening=np.full(M, np.nan),
            clock=(0.0, 0),
        )


def start_bins(capacity: int, channels: int, rate_Hz: float) -> Bins:
    """Empty bins, before the first sample."""
    nothing = np.full((capacity, channels), np.nan)
    return Bins(
        rate_Hz,
        nothing,
        nothing,
        np.full(capacity, np.nan),
        0,
        None,
        -math.inf,
        np.zeros(channels),
        np.zeros(channels, int),
        np.full(channels, np.nan),
        (0.0, 0),
    )


_BRIDGED_S = 2.0
"""Gaps up to this long are bridged by a straight line and not counted as missing [s]."""


@dataclass(frozen=True, eq=False)
class LiveWindow:
    """A window at the model's rate.

    Arguments:
        signal: shape (window, M), standardised and calibrated; rows that are still to come repeat the last one.
        time_s: of each row.
        baseline: clean-air readings that it is relative to; None where there are none.
        received: rows so far, without the repeated ones.
        over_s: time since the window was full [s]; negative before.
        missing: largest share of a channel's readings that was missing; `worst`: that channel.
    """

    signal: np.ndarray
    time_s: np.ndarray
    baseline: np.ndarray | None
    received: int
    over_s: float
    missing: float
    worst: str


def filled(g: np.ndarray, rate_Hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Without NaN, along straight lines; and the share of each channel that was missing for longer than is bridged."""
    hole = ~np.isfinite(g)
    if not hole.any():
        return g, np.zeros(g.shape[1])
    whole, rows, lost = g.copy(), np.arange(len(g)), np.zeros(g.shape[1])
    for m in np.flatnonzero(hole.any(axis=0)):
        known = ~hole[:, m]
        if not known.any():
            whole[:, m], lost[m] = 0.0, 1.0
            continue
        whole[:, m] = np.interp(rows, rows[known], g[known, m])
        lost[m] = _long_holes(hole[:, m], max(1, round(_BRIDGED_S * rate_Hz))) / len(g)
    return whole, lost


def _long_holes(hole: np.ndarray, bridged: int) -> int:
    """Rows in holes that are longer than what is bridged."""
    edges = np.diff(np.concatenate([[0], hole.astype(int), [0]]))
    lengths = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)
    return int(lengths[lengths > bridged].sum())


def stretched(
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

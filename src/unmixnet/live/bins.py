"""Samples at any rate become bins at the model's rate: running means, in memory that does not grow.

Bin k holds the samples with k/rate ≤ t − t₀ < (k + 1)/rate; a bin without a reading of a channel is NaN there.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Bins", "start_bins"]

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
    """Before the first sample."""
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

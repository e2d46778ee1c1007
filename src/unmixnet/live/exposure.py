"""Samples become bins at the model's rate, and bins tell where clean air ends; causal, in bounded memory."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from unmixnet.recordings.preprocessing import FULL_SCALE_COUNTS, Response, log_conductance

__all__ = ["FOOT", "Bins", "Exposure", "Scale", "Watch", "start_bins"]

_EPS = 1e-9


@dataclass(frozen=True)
class Scale:
    """g of one response."""

    response: Response

    def of(self, readings: np.ndarray) -> np.ndarray:
        """g(y); NaN where a reading cannot be."""
        if self.response is Response.LOG_CONDUCTANCE:
            return log_conductance(readings)
        if self.response is Response.LOG_RATIO:
            return np.log(np.where(readings > 0, readings, np.nan) + _EPS)
        return readings

    def readings(self, g: np.ndarray) -> np.ndarray:
        """y of g(y)."""
        if self.response is Response.LOG_CONDUCTANCE:
            return FULL_SCALE_COUNTS / (1 + np.exp(-g))
        return np.exp(g) - _EPS if self.response is Response.LOG_RATIO else g

    def respond(self, g: np.ndarray, baseline: np.ndarray | None) -> np.ndarray:
        """The response to a baseline reading b, or to none."""
        return g if baseline is None else (g - self.of(baseline)) / self._unit(baseline)

    def unrespond(self, response: np.ndarray, baseline: np.ndarray | None) -> np.ndarray:
        """g of a response."""
        return response if baseline is None else response * self._unit(baseline) + self.of(baseline)

    def watched(self, g: np.ndarray) -> np.ndarray:
        """What exposures are watched on: g, but ln y for `relative`, where a change is relative to the level."""
        return np.log(np.where(g > 0, g, np.nan)) if self.response is Response.RELATIVE else g

    def unwatched(self, level: np.ndarray) -> np.ndarray:
        """g of a watched level."""
        return np.exp(level) if self.response is Response.RELATIVE else level

    def _unit(self, baseline: np.ndarray) -> np.ndarray | float:
        return np.abs(baseline) + _EPS if self.response is Response.RELATIVE else 1.0


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


_SETTLE_S, _PATIENCE_S, _FOLLOW_S = 10.0, 300.0, 30.0
"""Time over which slopes are judged; after which nobody waits any longer; in which the level follows."""
_STEADY = 0.05
"""Change within the settling time that counts as none [sd of the training signal]."""
_FELL, FOOT = 0.5, 0.25
"""Share of the peak under which an exposure has fallen; share of the threshold at which it is said to begin."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """What is known of clean air and of the present exposure; levels are g over the sd of the training signal.

    Arguments:
        warm: whether the sensors have settled; `flat`: whether they stand still now.
        level, first_level: clean-air level now, and the first of the session; empty before.
        since: number of the bin from which on the sensors stood still when they settled last.
        onset: number of the bin in which the exposure began; None in clean air.
        clean: readings just then.
        peak, low, low_bin: largest departure since, and the least one after it has fallen.
    """

    warm: bool = False
    flat: bool = False
    level: np.ndarray = field(default_factory=lambda: np.zeros(0))
    first_level: np.ndarray = field(default_factory=lambda: np.zeros(0))
    since: int = 0
    onset: int | None = None
    clean: np.ndarray = field(default_factory=lambda: np.zeros(0))
    peak: float = 0.0
    low: float = math.inf
    low_bin: int = 0


@dataclass(frozen=True, eq=False)
class Watch:
    """How closely to look.

    Arguments:
        scale: of the bins.
        sd: of the training signal.
        threshold: departure that is an exposure [sd].
        rate_Hz: of the bins.
        lag: bins from a release until the sensors notice it.
    """

    scale: Scale
    sd: np.ndarray
    threshold: float
    rate_Hz: float
    lag: int = 0

    @property
    def settling(self) -> int:
        """Bins over which slopes are judged."""
        return max(4, round(_SETTLE_S * self.rate_Hz))

    def follow(self, now: Exposure, bins: Bins) -> Exposure:
        """After a bin was closed."""
        recent = self._recent(bins)
        now = replace(now, flat=bins.kept >= self.settling and _is_flat(recent))
        newest = recent[-2:] if np.all(np.any(np.isfinite(recent[-2:]), axis=0)) else None
        if newest is None:
            return now
        if not now.warm:
            tired = bins.closed > _PATIENCE_S * self.rate_Hz
            return self.settled(now, bins) if now.flat or tired else now
        away = np.abs(np.nanmean(newest, axis=0) - now.level)
        return self._in_air(now, bins, away) if now.onset is None else self._exposed(now, bins, away, recent)

    def settled(self, now: Exposure, bins: Bins) -> Exposure:
        """The air is clean now."""
        level = np.nanmean(self._recent(bins), axis=0)
        first = now.first_level if len(now.first_level) else level
        return Exposure(True, now.flat, level, first, max(bins.closed - self.settling, 0))

    def _recent(self, bins: Bins) -> np.ndarray:
        """The last bins, in sd of the training signal."""
        return self.scale.watched(bins.g[-self.settling :]) / self.sd

    def _in_air(self, now: Exposure, bins: Bins, away: np.ndarray) -> Exposure:
        if float(np.max(away)) > self.threshold:
            return self._begins(now, bins, self._foot(now, bins), float(_rms(away)))
        if not now.flat:
            return now
        new = np.nanmean(self._recent(bins), axis=0)
        share = 1 / (_FOLLOW_S * self.rate_Hz)
        return replace(now, level=now.level + share * np.where(np.isfinite(new), new - now.level, 0))

    def _exposed(self, now: Exposure, bins: Bins, away: np.ndarray, recent: np.ndarray) -> Exposure:
        if now.flat and float(np.nanmax(np.abs(recent - now.level))) < self.threshold:
            return self.settled(now, bins)
        size = _rms(away)
        if size >= _FELL * now.peak and math.isinf(now.low):
            return replace(now, peak=max(now.peak, size))
        if size > now.low + max(2 * self.threshold, 0.25) and now.low_bin >= bins.closed - bins.kept:
            return self._begins(now, bins, max(now.low_bin - self.lag, bins.closed - bins.kept), size)
        return replace(now, low=size, low_bin=bins.closed - 1) if size < now.low else now

    def _begins(self, now: Exposure, bins: Bins, onset: int, size: float) -> Exposure:
        place = onset - (bins.closed - len(bins.g))
        first = bins.first[place:]
        known = [first[np.argmax(np.isfinite(column)), m] for m, column in enumerate(first.T)]
        return replace(now, onset=onset, clean=np.array(known), peak=size, low=math.inf, low_bin=0)

    def _foot(self, now: Exposure, bins: Bins) -> int:
        """The bin in which the odour was released: the lag before the departure began."""
        away = np.max(np.abs(self.scale.watched(bins.g[-bins.kept :]) / self.sd - now.level), axis=1)
        # a bin without a reading is NaN, and not still
        still = np.flatnonzero(away < FOOT * self.threshold)
        return bins.closed - bins.kept + max((int(still[-1]) if len(still) else 0) - self.lag, 0)


def _is_flat(recent: np.ndarray) -> bool:
    """Whether every channel has been read and stands still."""
    half = len(recent) // 2
    known = np.isfinite(recent)
    if not (known[:half].any(axis=0) & known[half:].any(axis=0)).all():
        return False
    change = np.nanmean(recent[half:], axis=0) - np.nanmean(recent[:half], axis=0)
    return bool(np.max(np.abs(change)) * 2 < _STEADY)


def _rms(away: np.ndarray) -> float:
    return float(np.sqrt(np.mean(away**2)))

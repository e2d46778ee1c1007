"""Where clean air ends and an exposure begins, decided from bins as they close; causal, in bounded memory."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from unmixnet.live.windows import Bins
from unmixnet.recordings.response import ResponseScale

__all__ = ["ONSET_SHARE", "Exposure", "ExposureDetector"]

_SETTLE_S, _PATIENCE_S, _FOLLOW_S = 10.0, 300.0, 30.0
"""Time over which slopes are measured; after which the sensors count as settled; in which the level follows [s]."""
_STEADY = 0.05
"""Change within the settling time that counts as none [sd of the training signal]."""
_FELL, ONSET_SHARE = 0.5, 0.25
"""Share of the peak under which an exposure has fallen; share of the threshold at which it began."""


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
class ExposureDetector:
    """Decides bin by bin whether the sensors are in clean air or in an odour.

    Arguments:
        scale: of the bins.
        sd: of the training signal.
        threshold: departure that is an exposure [sd].
        rate_Hz: of the bins.
        lag: bins from a release until the sensors respond.
    """

    scale: ResponseScale
    sd: np.ndarray
    threshold: float
    rate_Hz: float
    lag: int = 0

    @property
    def settling(self) -> int:
        """Bins over which slopes are measured."""
        return max(4, round(_SETTLE_S * self.rate_Hz))

    def follow(self, now: Exposure, bins: Bins) -> Exposure:
        """The exposure after a bin was closed."""
        recent = self._recent(bins)
        now = replace(now, flat=bins.kept >= self.settling and _is_flat(recent))
        newest = recent[-2:] if np.all(np.any(np.isfinite(recent[-2:]), axis=0)) else None
        if newest is None:
            return now
        if not now.warm:
            waited = bins.closed > _PATIENCE_S * self.rate_Hz
            return self.settled(now, bins) if now.flat or waited else now
        away = np.abs(np.nanmean(newest, axis=0) - now.level)
        return self._in_air(now, bins, away) if now.onset is None else self._exposed(now, bins, away, recent)

    def settled(self, now: Exposure, bins: Bins) -> Exposure:
        """The exposure when the air is clean: the level of the last bins is that of clean air."""
        level = np.nanmean(self._recent(bins), axis=0)
        first = now.first_level if len(now.first_level) else level
        return Exposure(True, now.flat, level, first, max(bins.closed - self.settling, 0))

    def _recent(self, bins: Bins) -> np.ndarray:
        """The last bins, in sd of the training signal."""
        return self.scale.relative(bins.g[-self.settling :]) / self.sd

    def _in_air(self, now: Exposure, bins: Bins, away: np.ndarray) -> Exposure:
        if float(np.max(away)) > self.threshold:
            return self._begins(now, bins, self._onset_bin(now, bins), float(_rms(away)))
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

    def _onset_bin(self, now: Exposure, bins: Bins) -> int:
        """The bin in which the odour was released: the lag before the departure began."""
        away = np.max(np.abs(self.scale.relative(bins.g[-bins.kept :]) / self.sd - now.level), axis=1)
        # a bin without a reading is NaN, and not still
        still = np.flatnonzero(away < ONSET_SHARE * self.threshold)
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

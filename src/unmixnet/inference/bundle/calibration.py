"""From a model's output to calibrated claims: temperature, support, intervals, background, novelty."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.novelty import Gauge, Novelty
from unmixnet.inference.evidence import Evidence

__all__ = [
    "Background",
    "Calibration",
    "Intervals",
    "departure",
    "fit_background",
    "fit_intervals",
    "pooled_quantile",
    "projected",
    "sharpened",
]


def sharpened(ratios: np.ndarray, temperature: float) -> np.ndarray:
    """Ratios (…, K) at a temperature; 1 leaves them as they are, less makes large shares larger."""
    if temperature == 1:
        return ratios
    logs = np.log(np.maximum(ratios, 1e-12)) / temperature
    up = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return up / up.sum(axis=-1, keepdims=True)


def projected(ratios: np.ndarray, threshold: float) -> np.ndarray:
    """Ratios (…, K) without the shares under the threshold; 0 leaves them as they are."""
    if threshold <= 0:
        return ratios
    largest = ratios.max(axis=-1, keepdims=True)
    kept = np.where((ratios >= threshold) | (ratios >= largest), ratios, 0.0)
    return kept / kept.sum(axis=-1, keepdims=True)


_SHARE, _QUANTILE, _NOISE = 0.25, 0.01, 3.0


@dataclass(frozen=True)
class Background:
    """References.

    Arguments:
        typical: median departure of training recordings [sd of the training signal].
        least: departure under which nothing is claimed.
    """

    typical: float = 1.0
    least: float = 0.0

    @property
    def threshold(self) -> float:
        """The least strength at which shares are claimed."""
        return self.least / self.typical

    def strength(self, evidence: Evidence) -> float:
        """Departure over the typical one."""
        return departure(evidence) / self.typical

    def is_nothing(self, evidence: Evidence) -> bool:
        """Whether a recording is near clean air; a sensor that swings, or departs in the wrong direction, is not."""
        return departure(evidence) < self.least and float(np.max(evidence.unrest)) < self.typical


def departure(evidence: Evidence) -> float:
    """Largest departure of a window from clean air [sd of the training signal]."""
    return float(np.max(np.sqrt(np.mean(np.maximum(evidence.departure, 0) ** 2, axis=1))))


def fit_background(
    train: Sequence[Evidence], validation: Sequence[Evidence], *, noise: float, own_baseline: bool
) -> Background:
    """A quarter of what the weakest hundredth of the validation recordings departs.

    Where a recording gives its own baseline, clean air departs by the noise of the row that it was taken from: then
    three times the noise, but never more than half of the weakest recordings.
    """
    typical = max(float(np.median([departure(evidence) for evidence in train])), 1e-9)
    weakest = float(np.quantile([departure(evidence) for evidence in validation or train], _QUANTILE))
    least = max(_SHARE * weakest, min(_NOISE * noise, 0.5 * weakest) if own_baseline else 0.0)
    return Background(typical, least)


_FLOORS = (0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Intervals:
    """A table of intervals.

    Arguments:
        floor: c.
        cut: share above which a component counts as predicted present.
        present, absent: q; None stands for infinity.
        recordings: how many validation recordings it rests on.
        level: nominal coverage.
    """

    floor: float = 0.05
    cut: float = 0.05
    present: float | None = None
    absent: float | None = None
    recordings: int = 0
    level: float = 0.9

    def of(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the intervals of shares (…, K); they contain the shares and lie in [0, 1]."""
        q = np.where(shares >= self.cut, *(np.inf if q is None else q for q in (self.present, self.absent)))
        half = q * (self.floor + shares * (1 - shares))
        return np.clip(shares - half, 0, 1), np.clip(shares + half, 0, 1)


def pooled_quantile(scores: Sequence[np.ndarray], level: float) -> float | None:
    """Quantile of scores grouped by recording, each recording weighing 1/(n + 1); None if it is infinite."""
    groups = [group for group in scores if len(group)]
    n = len(groups)
    if not n or n / (n + 1) < level:
        return None
    values = np.concatenate(groups)
    weights = np.concatenate([np.full(len(group), 1 / ((n + 1) * len(group))) for group in groups])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= level - 1e-12
    return float(values[order][np.argmax(reached)]) if reached.any() else None


def fit_intervals(shares: np.ndarray, truth: np.ndarray, *, cut: float = 0.05, level: float = 0.9) -> Intervals:
    """The table from validation recordings, (n, K) each; c is the one with the narrowest intervals."""
    tables = [_table(shares, truth, floor, cut, level) for floor in _FLOORS]
    widths = [float(np.mean(high - low)) for low, high in (table.of(shares) for table in tables)]
    return tables[int(np.argmin(widths))]


def _table(shares: np.ndarray, truth: np.ndarray, floor: float, cut: float, level: float) -> Intervals:
    scores = np.abs(truth - shares) / (floor + shares * (1 - shares))
    present = shares >= cut
    return Intervals(
        floor,
        cut,
        pooled_quantile([row[inside] for row, inside in zip(scores, present, strict=True)], level),
        pooled_quantile([row[~inside] for row, inside in zip(scores, present, strict=True)], level),
        len(shares),
        level,
    )


@dataclass(frozen=True)
class Calibration:
    """Post-processing of a model's outputs, and the references of its verdicts.

    Arguments:
        temperature: of the ratios; 1 leaves them.
        support: shares under it are set to zero; 0 is off.
        smoothing: how the windows of a recording are combined; only `mean` is implemented.
        prior: mean ratios of the training recordings, the null model of every score.
        noise: RMS reconstruction residual of each channel on validation recordings [sd of the training signal]; empty
            without a solver.
        intervals, background, novelty: see their modules.
    """

    prior: tuple[float, ...]
    temperature: float = 1.0
    support: float = 0.0
    smoothing: str = "mean"
    noise: tuple[float, ...] = ()
    intervals: Intervals = field(default_factory=Intervals)
    background: Background = field(default_factory=Background)
    novelty: Novelty | None = None

    def to_shares(self, ratios: np.ndarray) -> np.ndarray:
        """Shares (…, K) from ratios (…, K)."""
        return projected(sharpened(ratios, self.temperature), self.support)

    def shares(self, windows: np.ndarray) -> np.ndarray:
        """Shares (K,) of a recording from the ratios (n, K) of its windows."""
        return self.to_shares(windows.mean(axis=0))

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` gives an equal object."""
        return _plain(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, value: Any) -> "Calibration":
        """The object that `to_json` described; anything unknown, missing or not finite is an error."""
        try:
            fields = {**value}
            fields["intervals"] = _made(Intervals, fields["intervals"])
            fields["background"] = _made(Background, fields["background"])
            if fields["novelty"] is not None:
                inner = {**fields["novelty"]}
                inner["embedding"] = _made(Gauge, inner["embedding"])
                inner["signal"] = _made(Gauge, inner["signal"])
                fields["novelty"] = _made(Novelty, inner)
            return _checked(_made(cls, fields))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"this is no calibration ({error})", remedy="Was it written by another version? Train anew"
            ) from None


def _made(kind: Any, value: Any) -> Any:
    """A data class from plain values; lists become tuples."""
    return kind(**{name: _tuples(item) for name, item in value.items()})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _checked(made: Calibration) -> Calibration:
    prior = np.asarray(made.prior, float)
    positive = [made.temperature, made.intervals.floor, made.background.typical]
    if made.novelty is not None:
        for gauge in (made.novelty.embedding, made.novelty.signal):
            positive += [*gauge.sd, gauge.rest]
        positive += [*made.novelty.spread, *made.novelty.residual]
    if prior.ndim != 1 or not len(prior) or not all(isinstance(x, float | int) and x > 0 for x in positive):
        raise ValueError("a scale is not a positive number")
    if not 0 <= made.support < 1 or made.smoothing != "mean":
        raise ValueError(f"support is {made.support!r}, smoothing {made.smoothing!r}")
    return made

"""Everything that turns what a model says into what an answer claims, chosen on validation recordings only."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.background import Background
from unmixnet.inference.bundle.conformal import Intervals
from unmixnet.inference.bundle.finish import projected, sharpened
from unmixnet.inference.bundle.novelty import Gauge, Novelty

__all__ = ["Calibration"]


@dataclass(frozen=True)
class Calibration:
    """How a model's answers are finished and judged.

    Arguments:
        temperature: of the ratios; 1 leaves them.
        support: shares under it are set to zero; 0 is off.
        smoothing: how the windows of a recording are joined; `mean` is the only way yet.
        prior: mean ratios of the training recordings, the guess that every score stands beside.
        noise: what the reconstruction of each channel leaves on validation recordings, RMS [sd of the training signal];
            empty without a solver.
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

    def finish(self, ratios: np.ndarray) -> np.ndarray:
        """Shares (…, K) from ratios (…, K)."""
        return projected(sharpened(ratios, self.temperature), self.support)

    def shares(self, windows: np.ndarray) -> np.ndarray:
        """Shares (K,) of a recording from the ratios (n, K) of its windows."""
        return self.finish(windows.mean(axis=0))

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` gives an equal object."""
        return _plain(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, value: Any) -> "Calibration":
        """The object that `to_json` described; anything unknown, missing or not finite is an error."""
        try:
            told = {**value}
            told["intervals"] = _made(Intervals, told["intervals"])
            told["background"] = _made(Background, told["background"])
            if told["novelty"] is not None:
                inner = {**told["novelty"]}
                inner["embedding"] = _made(Gauge, inner["embedding"])
                inner["signal"] = _made(Gauge, inner["signal"])
                told["novelty"] = _made(Novelty, inner)
            return _checked(_made(cls, told))
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

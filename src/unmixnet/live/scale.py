r"""Readings on the scale on which a session's offset adds, and back.

    level, relative   g(y) = y
    log-ratio         g(y) = ln(y + ε)
    log-conductance   g(y) = logit(y / 1023)

The response to a baseline b is g(y) − g(b) (over |b| + ε for `relative`), so that means over time may be taken of g
before the baseline is known; `data.response` is the law, and a test holds both together.
"""

from dataclasses import dataclass

import numpy as np

from unmixnet.recordings.response import FULL_SCALE_COUNTS, Response, log_conductance

__all__ = ["Scale"]

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

"""The scale on which a response is a difference: for readings that are averaged before their baseline is known.

    response(y, b) = (g(y) − g(b)) / unit(b)

| response        | g(y)                 | unit(b) |
|-----------------|----------------------|---------|
| level           | y                    | 1       |
| relative        | y                    | |b|     |
| log-ratio       | ln y                 | 1       |
| log-conductance | logit(y/full scale)  | 1       |
"""

from dataclasses import dataclass

import numpy as np

from unmixnet.recordings.preprocessing import FULL_SCALE_COUNTS, Response, log_conductance

__all__ = ["ResponseScale"]

_EPS = 1e-9


@dataclass(frozen=True)
class ResponseScale:
    """g of one response, and its inverse."""

    response: Response

    def of(self, readings: np.ndarray) -> np.ndarray:
        """g(y); NaN where no sensor can give such a reading."""
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
        """The response to a baseline reading b, or to none; `preprocessing.respond` of readings, but for rounding."""
        return g if baseline is None else (g - self.of(baseline)) / self._unit(baseline)

    def unrespond(self, response: np.ndarray, baseline: np.ndarray | None) -> np.ndarray:
        """g of a response."""
        return response if baseline is None else response * self._unit(baseline) + self.of(baseline)

    def relative(self, g: np.ndarray) -> np.ndarray:
        """g, but ln y for `relative`: a scale on which equal steps are equal changes at every level."""
        return np.log(np.where(g > 0, g, np.nan)) if self.response is Response.RELATIVE else g

    def absolute(self, level: np.ndarray) -> np.ndarray:
        """g of a level on the scale of `relative`."""
        return np.exp(level) if self.response is Response.RELATIVE else level

    def _unit(self, baseline: np.ndarray) -> np.ndarray | float:
        return np.abs(baseline) + _EPS if self.response is Response.RELATIVE else 1.0

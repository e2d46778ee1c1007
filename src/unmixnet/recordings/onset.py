"""When the response begins (supplement, "Onset alignment").

    t₀ = min { t_n : ‖dỸ/dt (t_n)‖₂ > κ σ_base }

σ_base is the noise of ‖dỸ/dt‖ in the baseline window. Where that is unstable, the known time of insertion
is taken, else the first crossing of a share of the largest response; and a recording that never responds
has no onset.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["Onset", "find_onset"]

How = Literal["derivative", "insertion", "threshold", "none"]


@dataclass(frozen=True)
class Onset:
    """Time of the onset [s] and by which rule it was found; 0 and "none" where nothing responds."""

    time_s: float
    how: How


def find_onset(
    time_s: np.ndarray,
    response: np.ndarray,
    *,
    baseline_s: float = 5.0,
    kappa: float = 6.0,
    inserted_s: float | None = None,
    share: float = 0.1,
    smooth_s: float = 1.0,
) -> Onset:
    """Find the onset of a response of shape (T, M).

    The derivative rule counts as stable if the crossing lies after the baseline window and lasts for at least
    half of the following `smooth_s` seconds: a spike does not.

    Arguments:
        inserted_s: when the source was inserted, if somebody wrote it down.
        share: of the largest response, for the threshold rule.
        smooth_s: width of the moving average before differentiating.
    """
    speed = _speed(time_s, response, smooth_s)
    start = int(np.searchsorted(time_s - time_s[0], baseline_s))
    if 2 <= start < len(time_s):
        quiet = speed[:start]
        limit = np.median(quiet) + kappa * max(_spread(quiet), 1e-12 + 1e-9 * np.abs(response).max())
        at = _first_lasting(speed[start:] > limit, max(_rows(time_s, smooth_s), 3))
        if at is not None:
            return Onset(float(time_s[start + at]), "derivative")
    if inserted_s is not None:
        return Onset(float(inserted_s), "insertion")
    size = np.linalg.norm(response - response[0], axis=1)
    if size.max() <= 0:
        return Onset(float(time_s[0]), "none")
    return Onset(float(time_s[int(np.argmax(size > share * size.max()))]), "threshold")


def _speed(time_s: np.ndarray, response: np.ndarray, smooth_s: float) -> np.ndarray:
    """‖dỸ/dt‖₂ of the smoothed response, shape (T,)."""
    rows = _rows(time_s, smooth_s)
    kernel = np.ones(rows) / rows
    padded = np.pad(response, ((rows // 2, rows - 1 - rows // 2), (0, 0)), mode="edge")
    smooth = np.stack([np.convolve(column, kernel, mode="valid") for column in padded.T], axis=1)
    return np.linalg.norm(np.gradient(smooth, time_s, axis=0), axis=1)


def _spread(values: np.ndarray) -> float:
    """Standard deviation as the median absolute deviation tells it."""
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


def _first_lasting(above: np.ndarray, rows: int) -> int | None:
    """First index where `above` holds and goes on to hold for half of the next rows."""
    for at in np.flatnonzero(above):
        if np.mean(above[at : at + rows]) >= 0.5 and len(above[at : at + rows]) == rows:
            return int(at)
    return None


def _rows(time_s: np.ndarray, seconds: float) -> int:
    step = float(np.median(np.diff(time_s))) if len(time_s) > 1 else 1.0
    return max(round(seconds / step), 1)

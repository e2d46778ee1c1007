r"""90 % intervals by split conformal prediction, with recordings as what is exchangeable.

    score    s_i = |a_i − â_i| / (c + â_i (1 − â_i))
    interval â_i ± q (c + â_i (1 − â_i)),  clipped to [0, 1]

q is one number for components predicted present (â_i ≥ cut) and one for those predicted absent. The components of a
recording are not independent, so every recording has the same weight 1/(n + 1), shared among its components, and the
last 1/(n + 1) sits at infinity (hierarchical conformal prediction; Lee, Barber & Willett 2023): a component drawn from
a new, exchangeable recording is covered with at least the stated probability. With too few recordings q is infinite
and the interval is [0, 1], which is what is known then.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Intervals", "fit_intervals", "pooled_quantile"]

_FLOORS = (0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class Intervals:
    """A table of intervals.

    Arguments:
        floor: c.
        cut: share from which a component counts as predicted present.
        present, absent: q; None stands for infinity.
        recordings: how many validation recordings it rests on.
        level: coverage that is promised.
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

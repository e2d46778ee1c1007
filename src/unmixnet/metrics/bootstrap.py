"""Intervals by resampling what is independent: recordings; for unseen mixtures, supports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import UnmixError

__all__ = ["Interval", "bootstrap_interval"]

Metric = Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]


@dataclass(frozen=True)
class Interval:
    """A 95 % percentile interval, and how many independent groups it rests on."""

    lo: float
    hi: float
    groups: int


def bootstrap_interval(
    metric: Metric,
    predicted: np.ndarray,
    true: np.ndarray,
    groups: Sequence[object],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Draw groups with replacement; a group's samples (windows of one recording, say) stay together.

    Arguments:
        metric: a function of predictions, truth and a weight for each sample.
        groups: one name for each sample: the recording, or for unseen mixtures the support.
    """
    names = [str(group) for group in groups]
    if len(names) != len(true):
        raise UnmixError(f"{len(names)} group names for {len(true)} samples", remedy="Name a group for every sample")
    index = np.unique(names, return_inverse=True)[1]
    count = int(index.max()) + 1
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)
    values = [metric(predicted, true, draw[index]) for draw in draws]
    lo, hi = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(lo), float(hi), count)

"""Is one model better than another beyond the draw of recordings?

The interval comes from resampling groups, the same for both models; p from swapping the models in some groups, which
changes nothing if they are equally good. With few groups resampling alone would call too much certain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from unmixnet.errors import UnmixError

__all__ = ["Difference", "Tally", "paired_difference"]

_FEW = 12


@dataclass(frozen=True, eq=False)
class Tally:
    """What a model scored on each recording: the sum over its samples, and how many they are.

    Models may see windows of different lengths, and so different numbers of them; recordings are the same.
    """

    total: Float[np.ndarray, " n"]
    count: Float[np.ndarray, " n"]

    @property
    def mean(self) -> float:
        """Over all samples."""
        return float(self.total.sum() / self.count.sum())


@dataclass(frozen=True)
class Difference:
    """Mean of the first less that of the second.

    Arguments:
        lo, hi: 95 % percentile interval.
        p: two-sided, share of the swaps with as large a difference.
        groups: how many independent ones it rests on.
    """

    mean: float
    lo: float
    hi: float
    p: float
    groups: int


def paired_difference(
    first: Tally, second: Tally, groups: Sequence[object], *, resamples: int = 2000, seed: int = 0
) -> Difference:
    """Difference with its interval and p.

    Arguments:
        groups: one name for each recording: its own, or for unseen mixtures its support.
    """
    if not len(groups) == len(first.total) == len(second.total):
        raise UnmixError("the models were scored on different recordings", remedy="Compare on what both have seen")
    index = np.unique([str(group) for group in groups], return_inverse=True)[1]
    count, rng = int(index.max()) + 1, np.random.default_rng(seed)
    one, two = (Tally(np.bincount(index, t.total), np.bincount(index, t.count)) for t in (first, second))
    draws = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    drawn = (draws @ one.total) / (draws @ one.count) - (draws @ two.total) / (draws @ two.count)
    lo, hi = np.quantile(drawn, [0.025, 0.975])
    parts = one.total / one.count.sum() - two.total / two.count.sum()
    p = float(np.mean(np.abs(_swaps(count, resamples, rng) @ parts) >= abs(parts.sum()) - 1e-12))
    return Difference(first.mean - second.mean, float(lo), float(hi), p, count)


def _swaps(count: int, draws: int, rng: np.random.Generator) -> Float[np.ndarray, "s n"]:
    """All ways to swap the models in some groups if there are not many, else a draw of them and the one as it is."""
    if count <= _FEW:
        return np.array(list(product((1.0, -1.0), repeat=count)))
    return np.concatenate([np.ones((1, count)), rng.choice((1.0, -1.0), (draws, count))])

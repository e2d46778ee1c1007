"""How well a score tells the unknown from the known."""

import numpy as np

from unmixnet.errors import UnmixError

__all__ = ["auroc"]


def auroc(scores: np.ndarray, unknown: np.ndarray, weight: np.ndarray | None = None) -> float:
    """P(score of an unknown > score of a known) + ½ P(equal): the area under the ROC curve; 0.5 is chance.

    NaN where a resample has drawn only one kind.
    """
    scores, unknown = np.asarray(scores, float), np.asarray(unknown, bool)
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, float)
    if not scores.shape == unknown.shape == weight.shape or scores.ndim != 1 or np.isnan(scores).any():
        raise UnmixError(
            f"scores {scores.shape}, labels {unknown.shape} and weights {weight.shape} are no three equal rows of "
            "numbers",
            remedy="Give one score, one label and one weight for each recording",
        )
    new, old = scores[unknown][:, None], scores[~unknown][None, :]
    pairs = weight[unknown][:, None] * weight[~unknown][None, :]
    total = pairs.sum()
    return float(np.sum(pairs * ((new > old) + 0.5 * (new == old))) / total) if total > 0 else float("nan")

"""Metrics for one substance out of many: scores of shape (samples, classes) against class indices."""

import numpy as np

from unmixnet.errors import UnmixError

__all__ = ["accuracy_at_1", "accuracy_at_5", "macro_f1"]


def accuracy_at_1(scores: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Share of samples whose true class has the highest score; of equal scores the first class counts."""
    return _accuracy_at(1, scores, true, weight)


def accuracy_at_5(scores: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Share of samples whose true class is among the five highest scores."""
    return _accuracy_at(5, scores, true, weight)


def macro_f1(scores: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """F1 of each class that truly occurs (or would, had it been drawn), averaged without weights.

    A class without weight in a resample is left out of the mean rather than counted as zero.
    """
    scores, true, weight = _checked(scores, true, weight)
    guess = scores.argmax(axis=1)
    K = scores.shape[1]
    agreed = np.bincount(true, weight * (guess == true), minlength=K)
    occurs = np.bincount(true, weight, minlength=K)
    claimed = np.bincount(guess, weight, minlength=K)
    seen = occurs > 0
    return float(np.mean(2 * agreed[seen] / (occurs[seen] + claimed[seen])))


def _accuracy_at(k: int, scores: np.ndarray, true: np.ndarray, weight: np.ndarray | None) -> float:
    scores, true, weight = _checked(scores, true, weight)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return float(weight @ np.any(best == true[:, None], axis=1) / weight.sum())


def _checked(
    scores: np.ndarray, true: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scores, true = np.asarray(scores, dtype=float), np.asarray(true)
    if scores.ndim != 2 or true.shape != (len(scores),) or not len(true):
        raise UnmixError(
            f"classes need scores (samples, classes) and one index each, saw {scores.shape} and {true.shape}",
            remedy="Pass scores first, true indices second",
        )
    if true.min() < 0 or true.max() >= scores.shape[1]:
        raise UnmixError(
            f"true class {true.max()} is outside the {scores.shape[1]} scored classes",
            remedy="Score every class that the test set holds",
        )
    return scores, true, np.ones(len(true)) if weight is None else np.asarray(weight, dtype=float)

"""Metrics for mixtures: predicted ratios â against true ratios a, both of shape (samples, K).

Every metric takes an optional weight per sample, so that an interval can be had by resampling.
"""

import numpy as np

from unmixnet.errors import UnmixError

__all__ = ["acc_at_01", "cosine", "mae", "ood_drop", "support_f1", "top_k_hit"]


def mae(predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Mean |â − a| over samples and components."""
    predicted, true, weight = _checked(predicted, true, weight)
    return float(weight @ np.abs(predicted - true).mean(axis=1) / weight.sum())


def acc_at_01(
    predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None, *, tolerance: float = 0.1
) -> float:
    """Share of the truly present components whose ratio is off by less than 0.1, averaged over samples.

    This is SmellNet's "Top-1@0.1", and our reading of the paper's undefined TopK@0.1. An error of 0.1 up
    to rounding (0.5 against 0.6 in binary) is not less than 0.1.
    """
    predicted, true, weight = _checked(predicted, true, weight)
    present = true > 0
    close = present & (np.abs(predicted - true) < tolerance - 1e-12)
    return float(weight @ (close.sum(axis=1) / present.sum(axis=1)) / weight.sum())


def top_k_hit(predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """With P true components, the share of them among the P largest predictions, pooled over samples (micro).

    This is SmellNet's "dynTopK". Equal predictions are taken in component order.
    """
    predicted, true, weight = _checked(predicted, true, weight)
    present = true > 0
    order = np.argsort(-predicted, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(true.shape[1])[None, :], axis=1)
    P = present.sum(axis=1)
    hits = (present & (rank < P[:, None])).sum(axis=1)
    return float(weight @ hits / (weight @ P))


def support_f1(
    predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None, *, threshold: float = 0.1
) -> float:
    """F1 of the support indicators â > δ, pooled over samples and components (micro)."""
    predicted, true, weight = _checked(predicted, true, weight)
    guess, present = predicted > threshold, true > 0
    agreed = weight @ (guess & present).sum(axis=1)
    wrong = weight @ (guess ^ present).sum(axis=1)
    return float(2 * agreed / (2 * agreed + wrong))


def cosine(predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Mean over samples of âᵀa / (‖â‖‖a‖); a prediction of nothing scores 0."""
    predicted, true, weight = _checked(predicted, true, weight)
    norms = np.linalg.norm(predicted, axis=1) * np.linalg.norm(true, axis=1)
    dots = np.einsum("nk,nk->n", predicted, true)
    return float(weight @ np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0) / weight.sum())


def ood_drop(mae_seen: float, mae_unseen: float) -> float:
    """(MAE unseen − MAE seen) / MAE seen, as in the paper; bad everywhere means a small drop."""
    if not mae_seen > 0:
        raise UnmixError(
            f"the drop is relative to the seen MAE, which is {mae_seen}", remedy="Report both MAEs instead"
        )
    return (mae_unseen - mae_seen) / mae_seen


def _checked(
    predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrays of equal shape, true ratios on the simplex, and a weight for each sample."""
    predicted, true = np.asarray(predicted, dtype=float), np.asarray(true, dtype=float)
    if predicted.shape != true.shape or true.ndim != 2 or not len(true):
        raise UnmixError(
            f"ratios need two equal shapes (samples, components), saw {predicted.shape} and {true.shape}",
            remedy="Pass predictions first, truth second",
        )
    if not np.all(np.isfinite(predicted)):
        raise UnmixError("predictions hold NaN or infinity", remedy="A model that fails must say so, not predict NaN")
    if np.any(true < 0) or np.any(np.abs(true.sum(axis=1) - 1) > 1e-6):
        raise UnmixError("true ratios must lie on the simplex", remedy="Use Mixture.vector, which normalises")
    return predicted, true, np.ones(len(true)) if weight is None else np.asarray(weight, dtype=float)

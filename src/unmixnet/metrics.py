"""What a prediction is worth: the metrics of the evaluation protocol, each with its reading stated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from unmixnet.errors import UnmixError

__all__ = [
    "Difference",
    "Interval",
    "Tally",
    "acc_at_01",
    "accuracy_at_1",
    "accuracy_at_5",
    "auroc",
    "bootstrap_interval",
    "concordance",
    "cosine",
    "forecast_rmse",
    "gas_id_accuracy",
    "macro_f1",
    "mae",
    "normalised_mae",
    "ood_drop",
    "paired_difference",
    "r_squared",
    "slope",
    "support_f1",
    "top_k_hit",
    "transition_residual",
]


def mae(predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Mean |â − a| over samples and components.

    >>> import numpy as np, unmixnet as um
    >>> um.metrics.mae(np.array([[0.75, 0.25]]), np.array([[0.5, 0.5]]))
    0.25
    """
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
        raise UnmixError("predictions hold NaN or infinity", remedy="Leave failed predictions out and count them")
    if np.any(true < 0) or np.any(np.abs(true.sum(axis=1) - 1) > 1e-6):
        raise UnmixError("true ratios must lie on the simplex", remedy="Use Mixture.vector, which normalises")
    return predicted, true, np.ones(len(true)) if weight is None else np.asarray(weight, dtype=float)


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
    scores, true, weight = _checked_classes(scores, true, weight)
    guess = scores.argmax(axis=1)
    K = scores.shape[1]
    agreed = np.bincount(true, weight * (guess == true), minlength=K)
    occurs = np.bincount(true, weight, minlength=K)
    claimed = np.bincount(guess, weight, minlength=K)
    seen = occurs > 0
    return float(np.mean(2 * agreed[seen] / (occurs[seen] + claimed[seen])))


def _accuracy_at(k: int, scores: np.ndarray, true: np.ndarray, weight: np.ndarray | None) -> float:
    scores, true, weight = _checked_classes(scores, true, weight)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return float(weight @ np.any(best == true[:, None], axis=1) / weight.sum())


def _checked_classes(
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


def gas_id_accuracy(predicted_ppm: np.ndarray, true_ppm: np.ndarray, *, threshold_ppm: np.ndarray | float) -> float:
    """Share of steps whose set of present gases is exactly right; present means above the threshold."""
    guess = np.asarray(predicted_ppm) > threshold_ppm
    return float(np.mean(np.all(guess == (np.asarray(true_ppm) > 0), axis=1)))


def normalised_mae(predicted_ppm: np.ndarray, true_ppm: np.ndarray, *, largest_ppm: np.ndarray) -> float:
    """ppm MAE over the largest calibration set point, mean over gases."""
    error = np.abs(np.asarray(predicted_ppm) - np.asarray(true_ppm)).mean(axis=0)
    return float(np.mean(error / _positive(largest_ppm, "largest set point")))


def forecast_rmse(predicted: np.ndarray, true: np.ndarray, *, calibration_sd: np.ndarray) -> float:
    """Root mean square error of readings forecast 10 s ahead, in units of the calibration sd."""
    z = (np.asarray(predicted) - np.asarray(true)) / _positive(calibration_sd, "calibration sd")
    return float(np.sqrt(np.mean(z**2)))


def transition_residual(
    predicted_ppm: np.ndarray,
    true_ppm: np.ndarray,
    time_s: np.ndarray,
    *,
    range_ppm: np.ndarray,
    within_s: float = 60.0,
) -> float:
    """Mean |Ĉ − C| / range over the 60 s after any set point changes; NaN if none changes."""
    true_ppm, time_s = np.asarray(true_ppm), np.asarray(time_s)
    changes = time_s[1:][np.any(np.diff(true_ppm, axis=0) != 0, axis=1)]
    last = np.searchsorted(changes, time_s, side="right") - 1
    since = np.where(last >= 0, time_s - changes[np.maximum(last, 0)], np.inf) if len(changes) else None
    if since is None or not np.any(since < within_s):
        return float("nan")
    share = np.abs(np.asarray(predicted_ppm) - true_ppm) / _positive(range_ppm, "range")
    return float(share[since < within_s].mean())


def r_squared(predicted: np.ndarray, true: np.ndarray, weight: np.ndarray | None = None) -> float:
    """1 − Σ(ŷ − y)² / Σ(y − ȳ)², for one gas; the mean predictor scores 0."""
    predicted, true = np.asarray(predicted, dtype=float), np.asarray(true, dtype=float)
    weight = np.ones(len(true)) if weight is None else np.asarray(weight, dtype=float)
    spread = weight @ (true - weight @ true / weight.sum()) ** 2
    return float(1 - weight @ (predicted - true) ** 2 / spread) if spread > 0 else float("nan")


def slope(predicted: np.ndarray, true: np.ndarray) -> float:
    """Least-squares slope of Ĉ on C, for one gas: 1 if changes are rendered at full size."""
    centred = np.asarray(true, dtype=float) - np.mean(true)
    spread = centred @ centred
    return float(centred @ np.asarray(predicted, dtype=float) / spread) if spread > 0 else float("nan")


def concordance(predicted: np.ndarray, true: np.ndarray) -> float:
    """Lin's concordance correlation: 2 cov / (var ŷ + var y + (mean ŷ − mean y)²), for one gas."""
    predicted, true = np.asarray(predicted, dtype=float), np.asarray(true, dtype=float)
    cov = np.mean((predicted - predicted.mean()) * (true - true.mean()))
    scale = predicted.var() + true.var() + (predicted.mean() - true.mean()) ** 2
    return float(2 * cov / scale) if scale > 0 else float("nan")


def _positive(values: np.ndarray | float, name: str) -> np.ndarray:
    values = np.asarray(values, dtype=float)
    if np.any(values <= 0):
        raise UnmixError(f"the {name} must be positive for every gas, saw {values}", remedy="Take it from training")
    return values


def auroc(scores: np.ndarray, unknown: np.ndarray, weight: np.ndarray | None = None) -> float:
    """P(score of an unknown > score of a known) + ½ P(equal): the area under the ROC curve; 0.5 is chance.

    NaN where a resample has drawn only one kind.
    """
    scores, unknown = np.asarray(scores, float), np.asarray(unknown, bool)
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, float)
    if not scores.shape == unknown.shape == weight.shape or scores.ndim != 1 or np.isnan(scores).any():
        raise UnmixError(
            f"scores {scores.shape}, labels {unknown.shape} and weights {weight.shape} are not three equal rows of "
            "numbers",
            remedy="Give one score, one label and one weight for each recording",
        )
    new, old = scores[unknown][:, None], scores[~unknown][None, :]
    pairs = weight[unknown][:, None] * weight[~unknown][None, :]
    total = pairs.sum()
    return float(np.sum(pairs * ((new > old) + 0.5 * (new == old))) / total) if total > 0 else float("nan")


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
    resampled_first, resampled_second = (
        Tally(np.bincount(index, t.total), np.bincount(index, t.count)) for t in (first, second)
    )
    draws = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    drawn = (draws @ resampled_first.total) / (draws @ resampled_first.count) - (draws @ resampled_second.total) / (
        draws @ resampled_second.count
    )
    lo, hi = np.quantile(drawn, [0.025, 0.975])
    parts = resampled_first.total / resampled_first.count.sum() - resampled_second.total / resampled_second.count.sum()
    p = float(np.mean(np.abs(_swaps(count, resamples, rng) @ parts) >= abs(parts.sum()) - 1e-12))
    return Difference(first.mean - second.mean, float(lo), float(hi), p, count)


def _swaps(count: int, draws: int, rng: np.random.Generator) -> Float[np.ndarray, "s n"]:
    """All ways to swap the models in some groups if there are not many, else a draw of them and the one as it is."""
    if count <= _FEW:
        return np.array(list(product((1.0, -1.0), repeat=count)))
    return np.concatenate([np.ones((1, count)), rng.choice((1.0, -1.0), (draws, count))])

"""Metrics for concentrations over time [ppm], arrays of shape (steps, gases).

The paper names "Gas ID Acc", "Norm. MAE", "forecast RMSE" and "transition residual" without defining them;
the definitions here are stated in each docstring and belong beside every table that uses them.
"""

import numpy as np

from unmixnet.errors import UnmixError

__all__ = [
    "concordance",
    "forecast_rmse",
    "gas_id_accuracy",
    "normalised_mae",
    "r_squared",
    "slope",
    "transition_residual",
]


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

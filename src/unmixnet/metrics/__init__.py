"""What a prediction is worth: the metrics of the evaluation protocol, each with its reading stated."""

from unmixnet.metrics.bootstrap import Interval, bootstrap_interval
from unmixnet.metrics.classes import accuracy_at_1, accuracy_at_5, macro_f1
from unmixnet.metrics.concentration import (
    concordance,
    forecast_rmse,
    gas_id_accuracy,
    normalised_mae,
    r_squared,
    slope,
    transition_residual,
)
from unmixnet.metrics.detection import auroc
from unmixnet.metrics.mixture import acc_at_01, cosine, mae, ood_drop, support_f1, top_k_hit
from unmixnet.metrics.paired import Difference, Tally, paired_difference

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

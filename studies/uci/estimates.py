"""Concentrations over time from a model, its delay and threshold chosen on calibration episodes, and their scores."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from studies.uci.episodes import SeriesPart, Split
from unmixnet import metrics
from unmixnet.inference.scores import Row

__all__ = ["DELAYS_S", "HORIZON_S", "GasEstimate", "choose_threshold", "score_rows"]

DELAYS_S = tuple(range(0, 41, 5))
"""δ that are tried [s]."""
HORIZON_S = 10
"""How far ahead readings are forecast [s]."""
RESAMPLES = 100


@dataclass(frozen=True, eq=False)
class GasEstimate:
    """Estimates of a model at the test windows.

    Arguments:
        model: name.
        ppm: concentrations, shape (n, G).
        delay_s: δ*.
        threshold_ppm: δ_c of each gas, shape (G,).
        forecast: log readings 10 s ahead, shape (n, 16); None if the model makes none.
    """

    model: str
    ppm: np.ndarray
    delay_s: int
    threshold_ppm: np.ndarray
    forecast: np.ndarray | None


def choose_threshold(ppm: np.ndarray, true_ppm: np.ndarray, largest_ppm: np.ndarray) -> np.ndarray:
    """δ_c of each gas: the one that best separates present from absent on calibration episodes."""
    chosen = []
    for guess, truth, top in zip(ppm.T, true_ppm.T, largest_ppm, strict=True):
        grid = top * np.linspace(0.01, 0.5, 50)
        chosen.append(grid[int(np.argmax([np.mean((guess > level) == (truth > 0)) for level in grid]))])
    return np.array(chosen)


def score_rows(
    split: Split, estimate: GasEstimate, gases: tuple[int, ...], protocol: str, chamber_ppm: np.ndarray | None = None
) -> list[Row]:
    """Rows of every metric; intervals by resampling episodes.

    Arguments:
        gases: columns of the set points that are estimated.
        chamber_ppm: what was in the chamber at the test windows, where that is known.
    """
    columns = list(gases)
    test, guess = split.test, estimate.ppm
    truth = test.series.delayed(test.ends, estimate.delay_s)[:, columns]
    known = split.calibration.series.ppm[split.calibration.ends][:, columns]
    jobs = _concentration_metrics(known.max(axis=0), estimate.threshold_ppm, test.series.time_s[test.ends])
    scored = {name: (metric, guess, truth) for name, metric in jobs.items()}
    if estimate.forecast is not None:
        sd = split.calibration.series.log_G[split.calibration.ends].std(axis=0)
        ahead = test.series.log_G[test.ends + HORIZON_S]
        scored["forecast RMSE"] = (
            lambda g, t, _: metrics.forecast_rmse(g, t, calibration_sd=sd),
            estimate.forecast,
            ahead,
        )
    if chamber_ppm is not None:
        scored["R² with the chamber"] = (
            lambda g, t, _: _mean_of(metrics.r_squared, g, t),
            guess,
            chamber_ppm[:, columns],
        )
    return [_row(protocol, split.name, estimate.model, name, job, test) for name, job in scored.items()]


Job = tuple[Callable[[np.ndarray, np.ndarray, np.ndarray], float], np.ndarray, np.ndarray]


def _concentration_metrics(largest: np.ndarray, threshold: np.ndarray, time_s: np.ndarray) -> dict[str, Callable]:
    """Each is a function of guess, truth and the rows of the resample."""
    return {
        "Gas ID Acc": lambda g, t, _: metrics.gas_id_accuracy(g, t, threshold_ppm=threshold),
        "support F1": lambda g, t, _: _support_f1(g > threshold, t > 0),
        "Norm. MAE": lambda g, t, _: metrics.normalised_mae(g, t, largest_ppm=largest),
        "R²": lambda g, t, _: _mean_of(metrics.r_squared, g, t),
        "Pearson": lambda g, t, _: _mean_of(_pearson, g, t),
        "Spearman": lambda g, t, _: _mean_of(_spearman, g, t),
        "slope": lambda g, t, _: _mean_of(metrics.slope, g, t),
        "CCC": lambda g, t, _: _mean_of(metrics.concordance, g, t),
        "transition residual": lambda g, t, rows: _transitions(g, t, time_s[rows], largest),
    }


def _row(protocol: str, split: str, model: str, name: str, job: Job, test: SeriesPart) -> Row:
    metric, guess, truth = job
    groups = np.unique(test.groups)
    members = [np.flatnonzero(test.groups == group) for group in groups]
    rng = np.random.default_rng(0)
    values = []
    for _ in range(RESAMPLES):
        # In the order of time, so that a transition stays one.
        rows = np.concatenate([members[i] for i in np.sort(rng.integers(len(groups), size=len(groups)))])
        values.append(metric(guess[rows], truth[rows], rows))
    lo, hi = np.nanquantile(values, [0.025, 0.975])
    mean = metric(guess, truth, np.arange(len(guess)))
    return Row(protocol, split, "window", model, name, float(mean), 0.0, float(lo), float(hi), len(groups), 1)


def _transitions(guess: np.ndarray, truth: np.ndarray, time_s: np.ndarray, largest: np.ndarray) -> float:
    """Over the 60 s after a change; a resample can repeat an episode, whose time then goes back."""
    order = np.argsort(time_s, kind="stable")
    return metrics.transition_residual(guess[order], truth[order], time_s[order], range_ppm=largest)


def _mean_of(metric: Callable, guess: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean([metric(g, t) for g, t in zip(guess.T, truth.T, strict=True)]))


def _support_f1(guess: np.ndarray, truth: np.ndarray) -> float:
    """F1 of present gases, pooled over gases and steps."""
    both = np.sum(guess & truth)
    return float(2 * both / max(np.sum(guess) + np.sum(truth), 1))


def _pearson(guess: np.ndarray, truth: np.ndarray) -> float:
    """Correlation; zero for a guess that never changes."""
    g, t = guess - guess.mean(), truth - truth.mean()
    scale = np.sqrt((g @ g) * (t @ t))
    return float(g @ t / scale) if scale > 1e-12 else 0.0


def _spearman(guess: np.ndarray, truth: np.ndarray) -> float:
    from scipy.stats import rankdata

    return _pearson(rankdata(guess), rankdata(truth))

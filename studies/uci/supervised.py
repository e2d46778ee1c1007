"""Peers that learn from UCI episodes: the mean, ridge and trees on 60 s windows. The last value forecasts readings."""

import numpy as np

from studies.peers.models import PEERS
from studies.uci.episodes import Part, Split, windows_of
from studies.uci.estimates import DELAYS_S, HORIZON_S, Estimate, choose_threshold
from unmixnet.recordings.samples import Samples, Task

__all__ = ["SUPERVISED", "choose_delay", "run_supervised"]

SUPERVISED = ("mean", "ridge", "extra-trees")


def run_supervised(split: Split, name: str, gases: tuple[int, ...], *, delay_s: int, seed: int = 0) -> Estimate:
    """Fit on the fitted episodes; the threshold comes from the calibration episodes.

    Readings are forecast by ridge on the same windows, as a change from the last one; the mean forecasts no change.
    """
    columns = list(gases)
    fitted = PEERS[name].fit(_samples(split.fit, columns, delay_s), Task.CONCENTRATIONS, seed=seed)
    # trees give a single gas without its axis
    held, test = (
        fitted.predict(windows_of(part)).reshape(len(part.ends), -1) for part in (split.calibration, split.test)
    )
    known = split.calibration.series.delayed(split.calibration.ends, delay_s)[:, columns]
    threshold = choose_threshold(held, known, known.max(axis=0))
    return Estimate(name, test, delay_s, threshold, _forecast(split, still=name == "mean"))


def choose_delay(split: Split, gases: tuple[int, ...]) -> int:
    """δ* [s]: the delay at which ridge predicts the calibration episodes best."""
    columns = list(gases)
    windows = windows_of(split.calibration)
    scores = []
    for delay_s in DELAYS_S:
        fitted = PEERS["ridge"].fit(_samples(split.fit, columns, delay_s), Task.CONCENTRATIONS)
        known = split.calibration.series.delayed(split.calibration.ends, delay_s)[:, columns]
        error = np.mean((fitted.predict(windows).reshape(known.shape) - known) ** 2, axis=0) / known.var(axis=0)
        scores.append(float(np.mean(error)))
    return DELAYS_S[int(np.argmin(scores))]


def _samples(part: Part, columns: list[int], delay_s: int) -> Samples:
    """Windows with C(t − δ); each episode counts as a recording, so that penalties are chosen on whole ones."""
    names = tuple(f"{part.series.name} {episode}" for episode in part.groups)
    targets = part.series.delayed(part.ends, delay_s)[:, columns]
    return Samples(windows_of(part), targets, names, ("",) * len(names))


def _forecast(split: Split, *, still: bool) -> np.ndarray:
    """Log readings ten seconds ahead."""
    now = split.test.series.log_G[split.test.ends]
    if still:
        return now
    fit = split.fit
    change = fit.series.log_G[fit.ends + HORIZON_S] - fit.series.log_G[fit.ends]
    names = tuple(f"{fit.series.name} {episode}" for episode in fit.groups)
    ridge = PEERS["ridge"].fit(Samples(windows_of(fit), change, names, ("",) * len(names)), Task.CONCENTRATIONS)
    return now + ridge.predict(windows_of(split.test))

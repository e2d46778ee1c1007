"""Concentrations from the plateaus of UCI 322: the last 30 % of the rows after the first 70 %."""

from pathlib import Path

import numpy as np

from studies.peers.models import PEERS
from unmixnet.inference.scores import Row
from unmixnet.metrics import bootstrap_interval, r_squared
from unmixnet.recordings.formats.uci_plateaus import Plateaus, read_plateaus
from unmixnet.recordings.protocols import Fold, protocol
from unmixnet.recordings.samples import Samples, Task

__all__ = ["run_plateaus"]

NAME = "uci-plateaus:forward"
LEVELS = {"settled plateau": 30.0, "any plateau": 0.0}
"""Shortest duration [s] of the plateaus that count: under 30 s a sensor has not settled."""
_PEERS = ("mean", "1-NN log", "quadratic ridge", "extra-trees log")


def run_plateaus(root: str | Path | None, seeds: int) -> list[Row]:
    """R² and MAE [ppm] of each gas, on settled plateaus and on all."""
    made = protocol(NAME, root)
    return [
        row
        for fold in made.folds
        for level, least_s in LEVELS.items()
        for row in _run_fold(read_plateaus(made.data.root / fold.test[0].path), fold, level, least_s, seeds)
    ]


def _run_fold(table: Plateaus, fold: Fold, level: str, least_s: float, seeds: int) -> list[Row]:
    """Fit and score every peer; short plateaus are dropped after the split, on both sides."""
    train, test = (
        _samples(table.part(side[0].start or 0, side[0].stop or len(table)).lasting(least_s))
        for side in (fold.train, fold.test)
    )
    rows: list[Row] = []
    for peer in _PEERS:
        count = seeds if PEERS[peer].seeded else 1
        fits = [PEERS[peer].fit(train, Task.CONCENTRATIONS, seed=seed) for seed in range(count)]
        rows += _score(table.gases, level, peer, [fitted.predict(test.windows) for fitted in fits], test)
    return rows


def _samples(table: Plateaus) -> Samples:
    """One window of one row for each plateau."""
    present = [
        "+".join(gas for gas, ppm in zip(table.gases, row, strict=True) if ppm > 0) for row in table.exposure_ppm
    ]
    names = tuple(f"{start:g} s" for start in table.start_s)
    return Samples(table.readings[:, None, :], table.exposure_ppm, names, tuple(present))


def _mean_error(guess: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None) -> float:
    return float(np.average(np.abs(guess - truth), weights=weight))


def _score(gases: tuple[str, ...], level: str, peer: str, guesses: list[np.ndarray], test: Samples) -> list[Row]:
    rows = []
    for g, gas in enumerate(gases):
        for name, metric in (("R²", r_squared), ("MAE [ppm]", _mean_error)):
            values = [metric(guess[:, g], test.targets[:, g], None) for guess in guesses]
            interval = bootstrap_interval(metric, guesses[0][:, g], test.targets[:, g], test.recordings)
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            mean = float(np.mean(values))
            lo, hi = interval.lo, interval.hi
            rows.append(Row(NAME, gas, level, peer, name, mean, sd, lo, hi, len(test), len(values)))
    return rows

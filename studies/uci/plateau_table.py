"""The table of the plateaus: the physical law beside its peers, on the rows after the first 70 %."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from studies.peers.models import PEERS
from studies.uci.least_squares import standard_errors
from studies.uci.plateau_fit import SETTLED_S, PlateauLaw, fit_plateaus, prior_sd
from studies.uci.plateau_inverse import FORMS, Choice, Inferred, choose_form, infer_after
from studies.uci.steady_response import SCALE_PPM, Form
from unmixnet.inference.scores import Row
from unmixnet.metrics import bootstrap_interval, r_squared
from unmixnet.recordings.formats.uci_plateaus import Plateaus, read_plateaus
from unmixnet.recordings.location import data_root
from unmixnet.recordings.protocols import Fold, protocol
from unmixnet.recordings.samples import Samples, Task

__all__ = ["LAW", "PLAIN", "FittedTable", "parameters", "plateau_rows", "run_law", "run_plateaus"]

PROTOCOL = "uci-plateaus:forward"
LAW = "competitive adsorption"
PLAIN = "competitive adsorption, plain Langmuir"
"""The same with γ = n = 1, whatever was chosen: fewer parameters, each of them determined."""
PLATEAUS = Path("uci322/ethylene_methane_plateaus.csv")
FIT_SHARE = 0.7
PEER_NAMES = ("mean", "1-NN log", "quadratic ridge", "extra-trees log")


@dataclass(frozen=True, eq=False)
class FittedTable:
    """The split table, what was chosen, fitted and inferred."""

    fitted: Plateaus
    rest: Plateaus
    choices: tuple[Choice, ...]
    law: PlateauLaw
    inferred: Inferred
    plain: PlateauLaw
    plain_inferred: Inferred


def run_law(root: str | Path | None, forms: Sequence[Form] = FORMS) -> FittedTable:
    """Choose and fit on the first 70 % of the rows; infer the rest from readings alone."""
    table = read_plateaus(data_root(root) / PLATEAUS)
    stop = int(FIT_SHARE * len(table))
    fitted, rest = table.part(0, stop), table.part(stop, len(table))
    choices = choose_form(fitted, forms)
    law = fit_plateaus(fitted, choices[0].form, steps=400)
    langmuir = next(form for form in FORMS if form.name == "Langmuir, warming")
    plain = fit_plateaus(fitted, langmuir, steps=400)
    inferred, plain_inferred = (infer_after(fitted_law, fitted, rest) for fitted_law in (law, plain))
    return FittedTable(fitted, rest, choices, law, inferred, plain, plain_inferred)


def plateau_rows(done: FittedTable, seeds: int) -> list[Row]:
    """R² and MAE of each gas and the accuracy of the support, on settled rows and on all."""
    rows: list[Row] = []
    least = np.array([column[column > 0].min() / 2 for column in done.fitted.exposure_ppm.T])
    for level, shortest_s in (("settled plateau", SETTLED_S), ("any plateau", 0.0)):
        kept = done.rest.duration_s >= shortest_s
        test = _samples(done.rest.lasting(shortest_s))
        for model, inferred in ((LAW, done.inferred), (PLAIN, done.plain_inferred)):
            rows += _score(done.rest.gases, level, model, [inferred.ppm[kept]], test, least)
        train = _samples(done.fitted.lasting(shortest_s))
        for name in PEER_NAMES:
            count = seeds if PEERS[name].seeded else 1
            fits = [PEERS[name].fit(train, Task.CONCENTRATIONS, seed=seed) for seed in range(count)]
            rows += _score(done.rest.gases, level, name, [fit.predict(test.windows) for fit in fits], test, least)
    return rows


def parameters(done: FittedTable) -> dict[str, Any]:
    """What was chosen and fitted, with standard errors."""
    return {
        "units_ppm": {gas: SCALE_PPM[gas] for gas in done.law.gases},
        "choice": [{"form": c.form.name, "error": c.error} for c in done.choices],
        LAW: _summary(done.law),
        PLAIN: _summary(done.plain),
    }


def _summary(law: PlateauLaw) -> dict[str, Any]:
    """A law in numbers.

    Residuals of the sixteen sensors in one row move together, so sensors of one row count as one observation: errors
    are those of independent ones times four, and never more than the prior's.
    """
    errors = standard_errors(law.solution, independent=1 / len(law.P))
    fitted = [
        {"name": name, "value": float(value), "se": float(min(se, prior_sd(name)))}
        for name, value, se in zip(law.names, law.solution.z, errors, strict=True)
    ]
    return {
        "law": law.form.name,
        "converged": law.solution.converged,
        "residual_sd": [float(sd) for sd in np.sqrt(np.diag(law.covariance))],
        "exchange": {key: np.asarray(value).tolist() for key, value in asdict(law.exchange).items()},
        "fitted": fitted,
    }


def _samples(table: Plateaus) -> Samples:
    names = tuple(f"{start:g} s" for start in table.start_s)
    return Samples(table.readings[:, None, :], table.exposure_ppm, names, ("",) * len(table))


def _mean_error(guess: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None) -> float:
    return float(np.average(np.abs(guess - truth), weights=weight))


def _exact(guess: np.ndarray, truth: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Share of rows with exactly the right gases."""
    return float(np.average(np.all(guess == truth, axis=1), weights=weight))


def _score(
    gases: tuple[str, ...],
    level: str,
    model: str,
    guesses: list[np.ndarray],
    test: Samples,
    least_ppm: np.ndarray | None = None,
) -> list[Row]:
    """Rows of one model; with `least_ppm`, above which a gas is present, the accuracy of the support too."""
    jobs = [
        (gas, name, metric, [guess[:, g] for guess in guesses], test.targets[:, g])
        for g, gas in enumerate(gases)
        for name, metric in (("R²", r_squared), ("MAE [ppm]", _mean_error))
    ]
    if least_ppm is not None:
        present = [guess > least_ppm for guess in guesses]
        jobs.append(("both gases", "support accuracy", _exact, present, test.targets > 0))
    rows = []
    for split, name, metric, values, truth in jobs:
        scores = [metric(value, truth, None) for value in values]
        interval = bootstrap_interval(metric, values[0], truth, test.recordings)
        sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
        mean, (lo, hi) = float(np.mean(scores)), (interval.lo, interval.hi)
        rows.append(Row(PROTOCOL, split, level, model, name, mean, sd, lo, hi, len(test), len(scores)))
    return rows


LEVELS = {"settled plateau": 30.0, "any plateau": 0.0}
"""Shortest duration [s] of the plateaus that count: under 30 s a sensor has not settled."""


def run_plateaus(root: str | Path | None, seeds: int) -> list[Row]:
    """R² and MAE [ppm] of each gas, on settled plateaus and on all."""
    made = protocol(PROTOCOL, root)
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
    for peer in PEER_NAMES:
        count = seeds if PEERS[peer].seeded else 1
        fits = [PEERS[peer].fit(train, Task.CONCENTRATIONS, seed=seed) for seed in range(count)]
        rows += _score(table.gases, level, peer, [fitted.predict(test.windows) for fitted in fits], test)
    return rows

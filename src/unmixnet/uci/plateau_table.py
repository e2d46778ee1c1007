"""The table of the plateaus: the physical law beside its peers, on the rows after the first 70 %."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.data.location import data_root
from unmixnet.data.plateaus import Plateaus, read_plateaus
from unmixnet.metrics import bootstrap_interval, r_squared
from unmixnet.peers.models import PEERS
from unmixnet.peers.samples import Samples, Task
from unmixnet.reproduce.rows import Row
from unmixnet.uci.least_squares import standard_errors
from unmixnet.uci.plateau_choice import FORMS, Choice, choose_form, infer_after, part
from unmixnet.uci.plateau_fit import SETTLED_S, PlateauLaw, fit_plateaus
from unmixnet.uci.plateau_inverse import Inferred
from unmixnet.uci.steady_response import SCALE_PPM, Form

__all__ = ["LAW", "FittedTable", "parameters", "plateau_rows", "run_law"]

PROTOCOL = "uci-plateaus:forward"
LAW = "competitive adsorption"
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
    found: Inferred


def run_law(root: str | Path | None, forms: Sequence[Form] = FORMS) -> FittedTable:
    """Choose and fit on the first 70 % of the rows; infer the rest from readings alone."""
    table = read_plateaus(data_root(root) / PLATEAUS)
    stop = int(FIT_SHARE * len(table))
    fitted, rest = part(table, 0, stop), part(table, stop, len(table))
    choices = choose_form(fitted, forms)
    law = fit_plateaus(fitted, choices[0].form, steps=400)
    return FittedTable(fitted, rest, choices, law, infer_after(law, fitted, rest))


def plateau_rows(done: FittedTable, seeds: int) -> list[Row]:
    """R² and MAE of each gas and the accuracy of the support, on settled rows and on all."""
    rows: list[Row] = []
    least = np.array([column[column > 0].min() / 2 for column in done.fitted.exposure_ppm.T])
    for level, shortest_s in (("settled plateau", SETTLED_S), ("any plateau", 0.0)):
        kept = done.rest.duration_s >= shortest_s
        test = _samples(done.rest.lasting(shortest_s))
        rows += _score(done.rest.gases, level, LAW, [done.found.ppm[kept]], test, least)
        train = _samples(done.fitted.lasting(shortest_s))
        for name in PEER_NAMES:
            count = seeds if PEERS[name].seeded else 1
            fits = [PEERS[name].fit(train, Task.CONCENTRATIONS, seed=seed) for seed in range(count)]
            rows += _score(done.rest.gases, level, name, [fit.predict(test.windows) for fit in fits], test, least)
    return rows


def parameters(done: FittedTable) -> dict[str, Any]:
    """What was chosen and fitted, with standard errors; sensors of one row count as one observation.

    Residuals of the sixteen sensors in one row move together, so errors are those of independent ones times four.
    """
    law, sensors = done.law, len(done.rest.sensors)
    errors = standard_errors(law.solution, independent=1 / sensors)
    fitted = [
        {"name": name, "value": float(value), "se": float(se)}
        for name, value, se in zip(law.names, law.solution.z, errors, strict=True)
    ]
    return {
        "law": law.form.name,
        "units_ppm": {gas: SCALE_PPM[gas] for gas in law.gases},
        "choice": [{"form": c.form.name, "error": c.error} for c in done.choices],
        "converged": law.solution.converged,
        "residual_sd": [float(sd) for sd in np.sqrt(np.diag(law.covariance))],
        "exchange": {k: np.asarray(v).tolist() for k, v in asdict(law.exchange).items()},
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
    gases: tuple[str, ...], level: str, model: str, guesses: list[np.ndarray], test: Samples, least: np.ndarray
) -> list[Row]:
    jobs = [
        (gas, name, metric, [guess[:, g] for guess in guesses], test.targets[:, g])
        for g, gas in enumerate(gases)
        for name, metric in (("R²", r_squared), ("MAE [ppm]", _mean_error))
    ]
    present = [guess > least for guess in guesses]
    jobs.append(("both gases", "support accuracy", _exact, present, test.targets > 0))
    rows = []
    for split, name, metric, values, truth in jobs:
        scores = [metric(value, truth, None) for value in values]
        interval = bootstrap_interval(metric, values[0], truth, test.recordings)
        sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
        mean, (lo, hi) = float(np.mean(scores)), (interval.lo, interval.hi)
        rows.append(Row(PROTOCOL, split, level, model, name, mean, sd, lo, hi, len(test), len(scores)))
    return rows

r"""Concentrations at every second from the plateau law alone, as if sensors followed the gas at once.

    x̂(t) = argmin_{x ≥ 0} ‖ln G(t) − f(x)‖²_{Σ⁻¹}

f is fitted to the ends of the episodes before the test, Σ to their residuals. The error is what slow sensors add: the
state lags behind the chamber, by the delay that calibration episodes choose and by what no delay can mend.
"""

from itertools import pairwise

import numpy as np

from studies.uci.episodes import Series, Split
from studies.uci.estimates import DELAYS_S, Estimate, choose_threshold
from studies.uci.plateau_fit import PlateauLaw, fit_plateaus
from studies.uci.plateau_inverse import FORMS, Knowledge, solve_row
from studies.uci.steady_response import SCALE_PPM
from unmixnet.recordings.formats.uci_plateaus import Plateaus

__all__ = ["QUASI_STEADY", "episode_ends", "run_quasi_steady"]

QUASI_STEADY = "competitive adsorption, quasi-steady"
_TAIL_S = 5


def episode_ends(series: Series, stop: int) -> Plateaus:
    """The plateaus of a series before a row: set points, durations, and mean readings of the last five seconds."""
    edges = np.flatnonzero(np.diff(series.episode[:stop], prepend=-1, append=-1))
    rows = [slice(max(end - _TAIL_S, start), end) for start, end in pairwise(edges)]
    return Plateaus(
        series.time_s[edges[:-1]],
        np.diff(edges).astype(float),
        series.gases,
        np.array([series.ppm[row.stop - 1] for row in rows]),
        tuple(f"s{m + 1:02d}" for m in range(series.log_G.shape[1])),
        np.exp(np.array([series.log_G[row].mean(axis=0) for row in rows])),
    )


def run_quasi_steady(split: Split) -> Estimate:
    """Fit to the episodes before the test, which must lie after them all, and invert every test second."""
    series, stop = split.test.series, int(split.test.ends.min())
    table = episode_ends(series, stop)
    law = fit_plateaus(table, next(form for form in FORMS if form.name == "Langmuir, warming"))
    known = Knowledge.of(table)
    held, test = (_invert(law, known, series, part.ends) for part in (split.calibration, split.test))
    delayed = [split.calibration.series.delayed(split.calibration.ends, d) for d in DELAYS_S]
    errors = [np.mean(np.mean((held - truth) ** 2, axis=0) / truth.var(axis=0)) for truth in delayed]
    best = int(np.argmin(errors))
    threshold = choose_threshold(held, delayed[best], delayed[best].max(axis=0))
    return Estimate(QUASI_STEADY, test, DELAYS_S[best], threshold, None)


def _invert(law: PlateauLaw, known: Knowledge, series: Series, rows: np.ndarray) -> np.ndarray:
    """x̂ at rows [ppm], shape (n, 2)."""
    root = np.linalg.cholesky(np.linalg.inv(law.covariance)).T
    scale = np.array([SCALE_PPM[gas] for gas in series.gases])
    found = []
    for row in rows:

        def residual(x: np.ndarray, row: int = int(row)) -> np.ndarray:
            here = law.log_conductance(np.maximum(x, 0), np.full(len(x), series.time_s[row]))
            return np.concatenate([(here - series.log_G[row]) @ root.T, 0 * x], axis=1)

        found.append(solve_row(residual, known)[0])
    return np.array(found) * scale

r"""Concentrations from plateaus: the law is inverted row by row, in time, from readings alone.

    ĉ(n) = argmin_{c ≥ 0}  ‖ln G(n) − f(left(n) + share(n) c)‖²_{Σ⁻¹}  +  Σ_i (c_i − c̄_i)²/s_i²

Σ is the covariance of the residuals between sensors, on the rows that were fitted; left and share come from the gas
that earlier *inferred* set points left in the chamber: no set point of the rows in question is used. c̄ and s are mean
and sd of the set points that were fitted: where share → 0 (a set point shorter than the delay) the reading
does not depend on it. A gas counts as present above half the smallest set point that was fitted; one that is absent has
concentration zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from scipy.optimize import least_squares

from studies.uci.episodes import Series, Split
from studies.uci.estimates import DELAYS_S, GasEstimate, choose_threshold
from studies.uci.plateau_fit import SETTLED_S, PlateauLaw, fit_plateaus, scaled
from studies.uci.steady_response import SCALE_PPM, Form, Pools
from unmixnet.recordings.formats.uci_plateaus import Plateaus

__all__ = [
    "FORMS",
    "QUASI_STEADY",
    "Choice",
    "Inferred",
    "Knowledge",
    "choose_form",
    "episode_ends",
    "infer_after",
    "infer_plateaus",
    "run_quasi_steady",
    "solve_row",
]

_STEP = 1e-5
"""Of difference quotients, in units of SCALE_PPM."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Statistics of the set points of the fitted rows, in units of SCALE_PPM, arrays (2,).

    Arguments:
        mean, sd: of all set points.
        least: half the smallest that is not zero.
        largest: the largest.
    """

    mean: np.ndarray
    sd: np.ndarray
    least: np.ndarray
    largest: np.ndarray

    @classmethod
    def of(cls, table: Plateaus) -> "Knowledge":
        """From the rows of a table that were fitted."""
        c = scaled(table)
        smallest = np.array([column[column > 0].min() for column in c.T])
        return cls(c.mean(axis=0), c.std(axis=0), smallest / 2, c.max(axis=0))


@dataclass(frozen=True, eq=False)
class Inferred:
    """Answers for consecutive rows.

    Arguments:
        ppm: concentrations, zero where a gas is absent, shape (N, 2).
        raw_ppm: before absent gases were set to zero.
        sd_ppm: standard deviation of `raw_ppm` that the law and the readings imply.
        misfit: squared distance to the law over the number of sensors; about one where the law holds.
    """

    ppm: np.ndarray
    raw_ppm: np.ndarray
    sd_ppm: np.ndarray
    misfit: np.ndarray


def infer_plateaus(law: PlateauLaw, known: Knowledge, table: Plateaus, before: Pools) -> Inferred:
    """Infer the set points of consecutive rows.

    Arguments:
        law: fitted on earlier rows.
        known: about set points, of the same rows.
        table: rows to infer; their set points are not looked at.
        before: the gas in the chamber when the first row starts.
    """
    y, root = np.log(table.readings), np.linalg.cholesky(np.linalg.inv(law.covariance)).T
    scale = np.array([SCALE_PPM[gas] for gas in table.gases])
    pools, inferred = before, []
    for n in range(len(table)):
        left, share = law.exchange.affine(pools, float(table.duration_s[n]))

        def residual(c: np.ndarray, n: int = n, left: np.ndarray = left, share: np.ndarray = share) -> np.ndarray:
            here = law.log_conductance(left + share * np.maximum(c, 0), np.full(len(c), table.start_s[n]))
            return np.concatenate([(here - y[n]) @ root.T, (c - known.mean) / known.sd], axis=1)

        c, sd, misfit = solve_row(residual, known)
        present = c > known.least
        pools = law.exchange.after(pools, c * present, float(table.duration_s[n]))
        inferred.append((c * present, c, sd, misfit))
    ppm, raw, sd, misfit = (np.array(column) for column in zip(*inferred, strict=True))
    return Inferred(ppm * scale, raw * scale, sd * scale, misfit / len(table.sensors))


def solve_row(residual: Callable[[np.ndarray], np.ndarray], known: Knowledge) -> tuple[np.ndarray, np.ndarray, float]:
    """c ≥ 0, its sd and the misfit, by bounded least squares from the best node of a grid."""
    grid = np.array(list(product(*(np.linspace(0, 1.1 * top, 23) for top in known.largest))))
    start = grid[np.argmin(np.sum(residual(grid) ** 2, axis=1))]

    def jacobian(c: np.ndarray) -> np.ndarray:
        rows = residual(c + _STEP * np.array([[0, 0], [1, 0], [0, 1]]))
        return (rows[1:] - rows[0]).T / _STEP

    solution = least_squares(
        lambda c: residual(c[None])[0],
        start,
        jac=jacobian,  # pyright: ignore[reportArgumentType]
        bounds=(0, 1.3 * known.largest),
        method="dogbox",  # a gas that is absent ends at exactly zero
        ftol=1e-9,
        max_nfev=40,
    )
    covariance = np.linalg.inv(solution.jac.T @ solution.jac)
    return solution.x, np.sqrt(np.diag(covariance)), float(np.sum(solution.fun[:-2] ** 2))


_A, _K, _N = ("log A1", "log A2"), ("log K1", "log K2"), ("log n1", "log n2")
_LAWS = (
    Form("Clifford", ("b", *_A, "log γ"), (*_A, "log γ")),
    Form("Langmuir, sensitivity of each sensor", ("b", *_A, *_K), _K),
    Form("Langmuir", ("b", *_A, *_K), (*_A, *_K)),
    Form("Langmuir, power-law readout", ("b", *_A, *_K, "log γ"), (*_A, *_K, "log γ")),
    Form("Sips, power-law readout", ("b", *_A, *_K, "log γ", *_N), (*_A, *_K, "log γ", *_N)),
)
FORMS = tuple(
    replace(law, name=f"{law.name}{', warming' if drift == 'warming' else ''}", drift=drift)
    for law in _LAWS
    for drift in ("none", "warming")
)
"""Laws that are tried; affinities, slopes and exponents are shared by the four sensors of a type, b never is."""
FORWARD_FOLDS = ((80, 110), (110, 140), (140, 170))
"""Shares of 170 rows: fit the rows before the first, forecast those up to the second."""


@dataclass(frozen=True)
class Choice:
    """A form, and its error inside the fitted part: rms over gases of ppm over the largest set point."""

    form: Form
    error: float


def choose_form(table: Plateaus, forms: Sequence[Form] = FORMS) -> tuple[Choice, ...]:
    """Forms with their errors, best first; only rows of this table are seen."""
    folds = [(len(table) * a // FORWARD_FOLDS[-1][1], len(table) * b // FORWARD_FOLDS[-1][1]) for a, b in FORWARD_FOLDS]
    errors = [np.sqrt(np.mean([_error(table, form, *fold) ** 2 for fold in folds])) for form in forms]
    inferred = [Choice(form, float(error)) for form, error in zip(forms, errors, strict=True)]
    return tuple(sorted(inferred, key=lambda choice: choice.error))


def infer_after(law: PlateauLaw, fitted: Plateaus, rest: Plateaus) -> Inferred:
    """Infer the rows that follow the fitted ones, whose gas is still in the chamber."""
    pools = Pools.clean(2)
    for c, duration_s in zip(scaled(fitted), fitted.duration_s, strict=True):
        pools = law.exchange.after(pools, c, float(duration_s))
    return infer_plateaus(law, Knowledge.of(fitted), rest, pools)


def _error(table: Plateaus, form: Form, stop: int, end: int) -> float:
    fitted, rest = table.part(0, stop), table.part(stop, end)
    inferred = infer_after(fit_plateaus(fitted, form), fitted, rest)
    settled = rest.duration_s >= SETTLED_S
    share = (inferred.ppm - rest.exposure_ppm)[settled] / table.exposure_ppm.max(axis=0)
    return float(np.sqrt(np.mean(share**2)))


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


def run_quasi_steady(split: Split) -> GasEstimate:
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
    return GasEstimate(QUASI_STEADY, test, DELAYS_S[best], threshold, None)


def _invert(law: PlateauLaw, known: Knowledge, series: Series, rows: np.ndarray) -> np.ndarray:
    """x̂ at rows [ppm], shape (n, 2)."""
    root = np.linalg.cholesky(np.linalg.inv(law.covariance)).T
    scale = np.array([SCALE_PPM[gas] for gas in series.gases])
    inferred = []
    for row in rows:

        def residual(x: np.ndarray, row: int = int(row)) -> np.ndarray:
            here = law.log_conductance(np.maximum(x, 0), np.full(len(x), series.time_s[row]))
            return np.concatenate([(here - series.log_G[row]) @ root.T, 0 * x], axis=1)

        inferred.append(solve_row(residual, known)[0])
    return np.array(inferred) * scale

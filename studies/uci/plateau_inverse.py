r"""Concentrations from plateaus: the law is inverted row by row, in time, from readings alone.

    ĉ(n) = argmin_{c ≥ 0}  ‖ln G(n) − f(left(n) + share(n) c)‖²_{Σ⁻¹}  +  Σ_i (c_i − c̄_i)²/s_i²

Σ is the covariance of the residuals between sensors, on the rows that were fitted; left and share come from the gas
that earlier *inferred* set points left in the chamber: no set point of the rows in question is used. c̄ and s are mean
and sd of the set points that were fitted: where share → 0 (a set point shorter than the delay) the reading says
nothing about it. A gas counts as present above half the smallest set point that was fitted; one that is absent has
concentration zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from studies.uci.exchange import Pools
from studies.uci.plateau_fit import PlateauLaw, scaled
from studies.uci.steady_response import SCALE_PPM
from unmixnet.recordings.formats.uci_plateaus import Plateaus

__all__ = ["Inferred", "Knowledge", "infer_plateaus", "solve_row"]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the fitted rows say about set points, in units of SCALE_PPM, arrays (2,).

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
    pools, found = before, []
    for n in range(len(table)):
        left, share = law.exchange.affine(pools, float(table.duration_s[n]))

        def residual(c: np.ndarray, n: int = n, left: np.ndarray = left, share: np.ndarray = share) -> np.ndarray:
            here = law.log_conductance(left + share * np.maximum(c, 0), np.full(len(c), table.start_s[n]))
            return np.concatenate([(here - y[n]) @ root.T, (c - known.mean) / known.sd], axis=1)

        c, sd, misfit = solve_row(residual, known)
        present = c > known.least
        pools = law.exchange.after(pools, c * present, float(table.duration_s[n]))
        found.append((c * present, c, sd, misfit))
    ppm, raw, sd, misfit = (np.array(column) for column in zip(*found, strict=True))
    return Inferred(ppm * scale, raw * scale, sd * scale, misfit / len(table.sensors))


def solve_row(residual: Callable[[np.ndarray], np.ndarray], known: Knowledge) -> tuple[np.ndarray, np.ndarray, float]:
    """c ≥ 0, its sd and the misfit, by bounded Gauss–Newton from the best node of a grid."""
    grid = np.array(list(product(*(np.linspace(0, 1.1 * top, 23) for top in known.largest))))
    c = grid[np.argmin(np.sum(residual(grid) ** 2, axis=1))]
    cost, damping, H = float(np.sum(residual(c[None]) ** 2)), 1e-3, np.eye(2)
    for _ in range(40):
        h = 1e-5
        rows = residual(c + h * np.array([[0, 0], [1, 0], [0, 1]]))
        r, J = rows[0], (rows[1:] - rows[0]).T / h
        H = J.T @ J
        free = (c > 0) | (J.T @ r < 0)
        step = np.zeros(2)
        A = H + damping * np.diag(np.diag(H))
        step[free] = np.linalg.solve(A[np.ix_(free, free)], (J.T @ r)[free]) if free.any() else 0
        trial = np.clip(c - step, 0, 1.3 * known.largest)
        lower = float(np.sum(residual(trial[None]) ** 2))
        if lower <= cost:
            done = cost - lower < 1e-9 * (1 + cost)
            c, cost, damping = trial, lower, damping / 5
            if done:
                break
        else:
            damping *= 5
    return c, np.sqrt(np.diag(np.linalg.inv(H))), float(np.sum(residual(c[None])[0][:-2] ** 2))

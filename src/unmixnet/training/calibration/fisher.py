r"""Fisher information: which coefficients the recordings determine, alone or in combination.

    F = Σ_r J_rᵀ Σ_Y⁻¹ J_r + P,    cov = F⁻¹,    se(c) = √(c cov cᵀ)

over Θ and all nuisances at once, P the precision of the priors. The block of F⁻¹ that belongs to Θ is the inverse of
the Schur complement: the nuisances are marginalised, not held. What the recordings do not determine keeps the
standard error of its prior, and that is how it is recognised.

    not determined    se is at least 0.7 of what it was before
    determined        else, if se ≤ 0.1, ten per cent
    weak              else

Some coefficients are known only together, because the sensors see only k_ads c and only β k, gain/k of a readout
gain · ln(1 + k Σ βθ)/k: hence the combinations. s̄, ḡ and ō are means of strengths, gains and offsets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from unmixnet.training.calibration.calibrate import CalibrationFit, problem_of
from unmixnet.training.calibration.forward import Nuisances, flat
from unmixnet.training.calibration.least_squares import normal_equations
from unmixnet.training.calibration.losses import CalibrationWeights, Stage
from unmixnet.training.calibration.setup import Setup
from unmixnet.training.calibration.theta import Theta

__all__ = ["DETERMINED", "CoefficientEstimate", "Information", "information", "row_of"]

DETERMINED, WEAK = 0.1, 0.7


@dataclass(frozen=True)
class CoefficientEstimate:
    """A coefficient, or a product of powers of some.

    Arguments:
        group: of like ones, e.g. "k_ads".
        name: e.g. "k_ads[CO, mango]".
        log: its logarithm (the level itself for b).
        se: standard error of it, nuisances marginalised.
        before: standard deviation that the prior gives it.
        combined: whether it is a combination.
    """

    group: str
    name: str
    log: float
    se: float
    before: float
    combined: bool = False

    @property
    def verdict(self) -> str:
        """Whether the recordings determine it."""
        if self.se >= WEAK * self.before:
            return "not determined"
        return "determined" if self.se <= DETERMINED else "weak"


@dataclass(frozen=True, eq=False)
class Information:
    """What the recordings determine about the coefficients.

    Arguments:
        estimates: single coefficients, then combinations.
        rows: the combinations (and coefficients) as rows over the unknowns, in the same order.
        undetermined: directions whose prior is hardly narrowed, each by the coefficients that it moves most.
    """

    estimates: tuple[CoefficientEstimate, ...]
    rows: np.ndarray
    undetermined: tuple[str, ...]

    def summary(self) -> list[dict[str, Any]]:
        """Each group: how many are determined, weak and not determined, and the median standard error."""
        table = []
        for group in dict.fromkeys(estimate.group for estimate in self.estimates):
            mine = [estimate for estimate in self.estimates if estimate.group == group]
            count = {verdict: sum(estimate.verdict == verdict for estimate in mine) for verdict in _VERDICTS}
            se, before = (float(np.median([getattr(estimate, key) for estimate in mine])) for key in ("se", "before"))
            table.append(
                {
                    "group": group,
                    "entries": len(mine),
                    **count,
                    "se": se,
                    "before": before,
                    "combined": mine[0].combined,
                }
            )
        return table


_VERDICTS = ("determined", "weak", "not determined")


def information(setup: Setup, stage: Stage, calibrated: CalibrationFit) -> Information:
    """At the optimum of the joint stage; only L_Y and the priors count, so that no recording counts twice."""
    weights = CalibrationWeights(Y=1, H=0, mix=0, phys=0, reg=1)
    problem, _ = problem_of(setup, replace(stage, weights=weights, recordings="all"), calibrated.noise)
    normal = normal_equations(problem, calibrated.theta, calibrated.nuisances)
    covariance = np.linalg.inv(normal.H)
    names, groups, rows = rows_of(setup, calibrated.theta, normal.places, calibrated.nuisances)
    x = row_of(calibrated.theta, calibrated.nuisances, normal.places)
    se = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0))
    before = np.sqrt(np.einsum("ij,j,ij->i", rows, 1 / normal.prior, rows))
    singles = len(normal.places)
    estimates = tuple(
        CoefficientEstimate(groups[i], names[i], float(rows[i] @ x), float(se[i]), float(before[i]), i >= singles)
        for i in range(len(rows))
    )
    return Information(estimates, rows, _undetermined(covariance[:singles, :singles], normal.prior[:singles], names))


def row_of(theta: Theta, nuisances: Nuisances, places: np.ndarray) -> np.ndarray:
    """All unknowns in the order of the normal equations."""
    parts = (nuisances.log_strength, nuisances.log_exposure, nuisances.log_gain, nuisances.offset)
    return np.concatenate([flat(theta)[places], *(np.ravel(part) for part in parts)])


def rows_of(
    setup: Setup, theta: Theta, places: np.ndarray, nuisances: Nuisances
) -> tuple[list[str], list[str], np.ndarray]:
    """Names, groups and rows of the single coefficients and of the combinations."""
    n, S, M = len(nuisances.log_strength), *nuisances.log_gain.shape
    size, P = len(places) + 2 * n + 2 * S * M, len(places)
    all_names, all_groups = _names(theta, setup.components, [s.name for s in setup.jar.chamber.sensors])
    names, groups = [all_names[i] for i in places], [all_groups[i] for i in places]
    rows = list(np.eye(P, size))
    where = np.full(flat(theta).size, -1)
    where[places] = np.arange(P)
    _, unravel = ravel_pytree(theta)
    at = unravel(jnp.asarray(where, flat_dtype(theta)))

    def row(*terms: tuple[float, Any], strength: float = 0, gain: int = -1, offset: int = -1) -> np.ndarray:
        out = np.zeros(size)
        for sign, place in terms:
            if int(place) >= 0:
                out[int(place)] += sign
        out[P : P + n] += strength / n
        for sensor, start in ((gain, P + 2 * n), (offset, P + 2 * n + S * M)):
            if sensor >= 0:
                out[start + sensor : start + S * M : M] += 1 / S
        return out

    for m, sensor in enumerate(s.name for s in setup.jar.chamber.sensors):
        single = {
            "gain/bend · ḡ": row((1, at.gain[m]), (-1, at.bend[m]), gain=m),
            "b + ō": row((1, at.b[m]), offset=m),
        }
        for name, value in single.items():
            _add(names, groups, rows, name, f"{name} [{sensor}]", value)
        for i, food in enumerate(setup.components):
            source = [(1, at.alpha[i]), (1, at.k_ads[m, i])]
            pair = {
                "s̄ α k_ads": row(*source, strength=1),
                "β · bend": row((1, at.beta[m, i]), (1, at.bend[m])),
                "steady slope": row(
                    *source, (-1, at.k_des[m, i]), (1, at.beta[m, i]), (1, at.gain[m]), strength=1, gain=m
                ),
            }
            for name, value in pair.items():
                _add(names, groups, rows, name, f"{name} [{sensor}, {food}]", value)
    return names, groups, np.array(rows)


def flat_dtype(theta: Theta) -> Any:
    """Floating type of the coefficients."""
    return theta.alpha.dtype


def _add(names: list[str], groups: list[str], rows: list[np.ndarray], group: str, name: str, row: np.ndarray) -> None:
    names.append(name)
    groups.append(group)
    rows.append(row)


def _names(theta: Theta, foods: Sequence[str], sensors: Sequence[str]) -> tuple[list[str], list[str]]:
    """Name and group of every entry of Θ, in the order of its row."""
    i, j = np.triu_indices(len(foods) + 1, 1)
    species = ("air", *foods)
    labels = {
        **{name: list(foods) for name in ("alpha", "rise", "decay", "wall")},
        **{name: [f"{s}, {f}" for s in sensors for f in foods] for name in ("k_ads", "k_des", "beta")},
        **{name: list(sensors) for name in ("gain", "bend", "tau", "recovery", "b")},
        "D": [f"{species[a]}, {species[b]}" for a, b in zip(i, j, strict=True)],
        "u": ["flow"],
    }
    order = list(vars(theta))
    names = [f"{name}[{label}]" for name in order for label in labels[name]]
    pairs = ["D in air" if a == 0 else "D of pairs" for a in i]
    groups = [pairs[k] if name == "D" else name for name in order for k in range(len(labels[name]))]
    return names, groups


def _undetermined(covariance: np.ndarray, prior: np.ndarray, names: Sequence[str], most: int = 12) -> tuple[str, ...]:
    """Directions, in units of the prior, of which the recordings took less than half of the variance."""
    scale = np.sqrt(prior)
    values, vectors = np.linalg.eigh(covariance * scale[:, None] * scale)
    lost = np.flatnonzero(values > 0.5)[::-1]
    return tuple(_described(vectors[:, k], names) for k in lost[:most])


def _described(direction: np.ndarray, names: Sequence[str], most: int = 4) -> str:
    order = np.argsort(-np.abs(direction))[:most]
    return ", ".join(f"{names[k]} {'↑' if direction[k] > 0 else '↓'}" for k in order if abs(direction[k]) > 0.05)

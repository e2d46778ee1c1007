r"""Concentration, flux, coverage and mass of recordings, and the four scalars of the paper's figure.

C(t) = ⟨c_{v(m),i}⟩_{m,i}      J(t) = ⟨|J_{e,i}|⟩_{e,i}      Θ(t) = ⟨θ_{m,i}⟩_{m,i}      M(t) = Σ_i Σ_v N_{v,i}
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.inference.scores import RESAMPLES, Row
from unmixnet.metrics import bootstrap_interval

__all__ = [
    "QUANTITIES",
    "PhysicalStates",
    "TraceNuisances",
    "compared",
    "joined",
    "mean_row",
    "rmse_row",
    "squared_errors",
    "units",
]

QUANTITIES = ("C", "J", "θ", "M")


@dataclass(frozen=True, eq=False)
class PhysicalStates:
    """States of n recordings at T times, odorants only.

    Arguments:
        concentration: of each cell [mol/m³], (n, T, V, K).
        flux: diffusive, through each edge [mol/(m² s)], (n, T, E, K).
        coverage: of each sensor [–], (n, T, M, K).
        mass: gas-phase moles of each odorant in the whole chamber [mol], (n, T, K).
        sensor_cell: the cell that each sensor breathes, (M,).
    """

    concentration: np.ndarray
    flux: np.ndarray
    coverage: np.ndarray
    mass: np.ndarray
    sensor_cell: np.ndarray

    def __len__(self) -> int:
        return len(self.mass)

    @property
    def at_sensors(self) -> np.ndarray:
        """Concentration that each sensor breathes, (n, T, M, K)."""
        return self.concentration[:, :, self.sensor_cell]

    def scalars(self) -> dict[str, np.ndarray]:
        """C(t), J(t), Θ(t), M(t), each (n, T)."""
        return {
            "C": self.at_sensors.mean(axis=(2, 3)),
            "J": np.abs(self.flux).mean(axis=(2, 3)),
            "θ": self.coverage.mean(axis=(2, 3)),
            "M": self.mass.sum(axis=2),
        }

    def chosen(self, rows: Sequence[int] | np.ndarray | slice) -> "PhysicalStates":
        """Some of the recordings."""
        arrays = ("concentration", "flux", "coverage", "mass")
        return replace(self, **{name: getattr(self, name)[rows] for name in arrays})


def compared(states: PhysicalStates, *, same_graph: bool) -> dict[str, np.ndarray]:
    """What two models of one chamber are compared by, each (n, T, …).

    On different graphs edges have no counterpart: the flux is then compared through its scalar, and cells only where
    the sensors sit.
    """
    flux = states.flux if same_graph else states.scalars()["J"][:, :, None]
    return {"C": states.at_sensors, "J": flux, "θ": states.coverage, "M": states.mass}


def joined(parts: Sequence[PhysicalStates]) -> PhysicalStates:
    """Recordings of several, one after the other."""
    arrays = ("concentration", "flux", "coverage", "mass")
    return replace(parts[0], **{name: np.concatenate([getattr(p, name) for p in parts]) for name in arrays})


def units(reference: PhysicalStates, *, same_graph: bool = True) -> dict[str, float]:
    """√⟨q*²⟩ of each quantity, of training recordings."""
    return {name: float(np.sqrt(np.mean(q**2))) for name, q in compared(reference, same_graph=same_graph).items()}


def squared_errors(
    guess: PhysicalStates, reference: PhysicalStates, unit: dict[str, float], *, same_graph: bool = True
) -> dict[str, np.ndarray]:
    """Mean squared error of every recording, in units of the reference, (n,) for each quantity."""
    guessed, truth = (compared(states, same_graph=same_graph) for states in (guess, reference))
    return {
        name: np.mean((guessed[name] - truth[name]) ** 2, axis=tuple(range(1, truth[name].ndim))) / unit[name] ** 2
        for name in truth
    }


def rmse_row(names: tuple[str, str, str, str], squares: Sequence[np.ndarray], groups: Sequence[str]) -> Row:
    """Root of the mean square over recordings; one array of squares for each seed."""
    return _row(names, squares, groups, lambda value, weight: float(np.sqrt(np.average(value, weights=weight))))


def mean_row(names: tuple[str, str, str, str], values: Sequence[np.ndarray], groups: Sequence[str]) -> Row:
    """Mean over recordings; one array of values for each seed."""
    return _row(names, values, groups, lambda value, weight: float(np.average(value, weights=weight)))


def _row(
    names: tuple[str, str, str, str],
    per_seed: Sequence[np.ndarray],
    groups: Sequence[str],
    reduce: Callable[[np.ndarray, np.ndarray | None], float],
) -> Row:
    """Names are protocol, split, model, metric; the interval is the first seed's."""
    means = [reduce(values, None) for values in per_seed]
    first = np.asarray(per_seed[0], float)
    interval = bootstrap_interval(
        lambda guess, _, weight: reduce(guess, weight), first, np.zeros_like(first), groups, resamples=RESAMPLES
    )
    protocol, split, model, metric = names
    sd = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    about = (protocol, split, "trajectory", model, metric, float(np.mean(means)), sd)
    return Row(*about, interval.lo, interval.hi, interval.groups, len(means))


@dataclass(frozen=True, eq=False)
class TraceNuisances:
    """Covariances over sensors, (M, M) each; t runs from 0 to 1 over a recording."""

    session: np.ndarray
    take: np.ndarray
    slope: np.ndarray
    white: np.ndarray

    @classmethod
    def measured(cls, traces: np.ndarray, recipes: Sequence[str], sessions: Sequence[str]) -> "TraceNuisances":
        """From training traces (n, rows, M) of log conductance, with the recipe and the session of each."""
        rows, M = traces.shape[1:]
        t = np.linspace(-0.5, 0.5, rows)
        level, slope = traces.mean(axis=1), np.einsum("t,ntm->nm", t, traces) / np.sum(t**2)
        steps = np.diff(traces, axis=1).reshape(-1, M)
        groups = [f"{a} {b}" for a, b in zip(recipes, sessions, strict=True)]
        taken = level - _group_means(level, groups)
        take = taken.T @ taken / max(len(taken) - len(set(groups)), 1)
        moved = _session_levels(level, recipes, sessions)
        # Differences of neighbouring rows hold the white noise twice and hardly anything else.
        return cls(_covariance(moved), take, _covariance(slope), steps.T @ steps / len(steps) / 2)

    def drawn(self, sessions: Sequence[str], rows: int, *, seed: int = 0) -> np.ndarray:
        """What is added to clean traces, (n, rows, M); recordings of a session share its part."""
        rng, M = np.random.default_rng([seed, 78]), len(self.white)
        names = sorted(set(sessions))
        when = [names.index(session) for session in sessions]
        session = self._normal(rng, self.session, len(names))[when]
        take, slope = (self._normal(rng, part, len(when)) for part in (self.take, self.slope))
        white = self._normal(rng, self.white, len(when) * rows).reshape(len(when), rows, M)
        t = np.linspace(-0.5, 0.5, rows)[:, None]
        return (session + take)[:, None] + slope[:, None] * t + white

    @staticmethod
    def _normal(rng: np.random.Generator, covariance: np.ndarray, n: int) -> np.ndarray:
        values, vectors = np.linalg.eigh(covariance)
        return rng.normal(size=(n, len(values))) * np.sqrt(np.maximum(values, 0)) @ vectors.T


def _session_levels(level: np.ndarray, recipes: Sequence[str], sessions: Sequence[str]) -> np.ndarray:
    """Least squares of level = recipe + session, (sessions, M); only sessions that share a recipe with another."""
    kinds, kind = np.unique(recipes, return_inverse=True)
    names, when = np.unique(sessions, return_inverse=True)
    shared = [len(set(when[kind == k])) > 1 for k in range(len(kinds))]
    rows = np.flatnonzero(np.array(shared)[kind])
    if not len(rows):
        return np.zeros((1, level.shape[1]))
    design = np.concatenate([np.eye(len(kinds))[kind[rows]], np.eye(len(names))[when[rows]]], axis=1)
    levels = np.linalg.lstsq(design, level[rows], rcond=None)[0][len(kinds) :]
    return levels[np.unique(when[rows])]


def _group_means(values: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """For each row, the mean of its group."""
    index = np.unique(groups, return_inverse=True)[1]
    total = np.zeros((index.max() + 1, values.shape[1]))
    np.add.at(total, index, values)
    return (total / np.bincount(index)[:, None])[index]


def _covariance(rows: np.ndarray) -> np.ndarray:
    return rows.T @ rows / max(len(rows), 1) - np.outer(rows.mean(axis=0), rows.mean(axis=0))

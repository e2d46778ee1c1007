r"""How real recordings of one recipe differ: between sessions, from take to take, within the minute.

    ℓ_{r,m}(t) = recipe + session + take + slope (t − ½) + white noise        logarithm of the conductance, sensor m

Each part is drawn from a normal distribution with the covariance over sensors that training recordings show. Sessions
are compared through recipes that several of them have; nothing here knows a simulator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Nuisances"]


@dataclass(frozen=True, eq=False)
class Nuisances:
    """Covariances over sensors, (M, M) each; t runs from 0 to 1 over a recording."""

    session: np.ndarray
    take: np.ndarray
    slope: np.ndarray
    white: np.ndarray

    @classmethod
    def measured(cls, traces: np.ndarray, recipes: Sequence[str], sessions: Sequence[str]) -> "Nuisances":
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
    found = np.linalg.lstsq(design, level[rows], rcond=None)[0][len(kinds) :]
    return found[np.unique(when[rows])]


def _group_means(values: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """For each row, the mean of its group."""
    index = np.unique(groups, return_inverse=True)[1]
    total = np.zeros((index.max() + 1, values.shape[1]))
    np.add.at(total, index, values)
    return (total / np.bincount(index)[:, None])[index]


def _covariance(rows: np.ndarray) -> np.ndarray:
    return rows.T @ rows / max(len(rows), 1) - np.outer(rows.mean(axis=0), rows.mean(axis=0))

r"""Concentration, flux, coverage and mass of recordings, and the four scalars of the paper's figure.

C(t) = ⟨c_{v(m),i}⟩_{m,i}      J(t) = ⟨|J_{e,i}|⟩_{e,i}      Θ(t) = ⟨θ_{m,i}⟩_{m,i}      M(t) = Σ_i Σ_v N_{v,i}
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.inference.scores import RESAMPLES, Row
from unmixnet.metrics import bootstrap_interval

__all__ = ["QUANTITIES", "PhysicalStates", "compared", "joined", "mean_row", "rmse_row", "squared_errors", "units"]

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
    found, truth = (compared(states, same_graph=same_graph) for states in (guess, reference))
    return {
        name: np.mean((found[name] - truth[name]) ** 2, axis=tuple(range(1, truth[name].ndim))) / unit[name] ** 2
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

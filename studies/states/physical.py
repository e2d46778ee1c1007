r"""Concentration, flux, coverage and mass of recordings, and the four scalars of the paper's figure.

C(t) = ⟨c_{v(m),i}⟩_{m,i}      J(t) = ⟨|J_{e,i}|⟩_{e,i}      Θ(t) = ⟨θ_{m,i}⟩_{m,i}      M(t) = Σ_i Σ_v N_{v,i}
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["QUANTITIES", "PhysicalStates", "compared", "joined"]

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

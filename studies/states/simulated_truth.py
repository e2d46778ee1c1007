"""What really happened in chosen recordings of the `simulated` data sets: concentration, flux and coverage.

Solved on demand in the fine chamber, then averaged onto the cells and edges of the hand-held e-nose, once a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.simulated import plan_of, setting_of, shares
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.simulated_nose import RATE_HZ, ROWS, Setting, fine_chamber, solve

__all__ = ["TrueStates", "advective_flux", "true_states"]


@dataclass(frozen=True, eq=False)
class TrueStates:
    """True states of R recordings at T times, of K odorants.

    Arguments:
        paths: of the recordings.
        strength: of each recording, shape (R,).
        time_s: 1, 2, ..., 60 s, shape (T,).
        concentration: mean over each of the V = 8 cells [mol/m³], shape (R, T, V, K).
        flux: diffusive (Maxwell–Stefan) flux through each of the E = 14 edges [mol/(m² s)], shape (R, T, E, K).
        advective_flux: what the draught carries through them [mol/(m² s)], shape (R, T, E, K).
        coverage: of each of the M sensors [–], shape (R, T, M, K).
    """

    paths: tuple[str, ...]
    strength: np.ndarray
    time_s: np.ndarray
    concentration: np.ndarray
    flux: np.ndarray
    advective_flux: np.ndarray
    coverage: np.ndarray

    @property
    def total_flux(self) -> np.ndarray:
        """Diffusive and advective flux together [mol/(m² s)]."""
        return self.flux + self.advective_flux


def true_states(data: Dataset | Setting, indices: Sequence[int]) -> TrueStates:
    """Solve recordings of a simulated data set once more and keep their states.

    Arguments:
        data: the data set, or its setting.
        indices: places of the recordings among `data.entries`.
    """
    setting = setting_of(data)
    plan, wanted = plan_of(setting), list(indices)
    if not wanted or not all(0 <= i < len(plan.paths) for i in wanted):
        raise ConfigError(
            f"indices {wanted[:5]} of {len(plan.paths)} recordings",
            where="true_states",
            remedy=f"Give at least one index from 0 to {len(plan.paths) - 1}",
        )
    fine, released = fine_chamber(setting), shares(setting)[wanted]
    saved = solve(setting, released, save=("N", "J", "theta"), every=round(RATE_HZ))
    assert saved.N is not None and saved.J is not None and saved.theta is not None
    concentration = np.asarray(saved.N)[..., 1:] / fine.chamber.volume_m3[:, None]
    return TrueStates(
        tuple(plan.paths[i] for i in wanted),
        released.sum(axis=1),
        np.arange(1, round(ROWS / RATE_HZ) + 1, dtype=float),
        fine.cell_mean(concentration),
        fine.edge_mean(np.asarray(saved.J)[..., 1:]),
        fine.edge_mean(advective_flux(fine.chamber, concentration)),
        np.asarray(saved.theta)[..., 1:],
    )


def advective_flux(chamber: Chamber, concentration: np.ndarray) -> np.ndarray:
    """u c of the cell that the gas comes from [mol/(m² s)], (..., cells, K) → (..., edges, K)."""
    velocity = np.array([edge.velocity_m_s for edge in chamber.edges])
    upstream = np.where(velocity >= 0, chamber.tail, chamber.head)
    return velocity[:, None] * concentration[..., upstream, :]

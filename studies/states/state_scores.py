"""What really happened in chosen recordings of the `simulated` data sets: concentration, flux and coverage.

Solved on demand in the fine chamber, then averaged onto the cells and edges of the hand-held e-nose, once a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import NetworkBench
from unmixnet.errors import ConfigError
from unmixnet.metrics import r_squared
from unmixnet.model.batches import samples_first
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.protocols import Piece, hold_out
from unmixnet.recordings.simulated import plan_of, setting_of, shares
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.simulated_nose import RATE_HZ, ROWS, Setting, fine_chamber, solve

__all__ = [
    "QUANTITIES",
    "CellStates",
    "StateScore",
    "TrueStates",
    "advective_flux",
    "factors",
    "inferred_states",
    "state_scores",
    "true_states",
    "true_states_of",
]


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


QUANTITIES = ("concentration", "flux", "coverage")
_BATCH = 32


@dataclass(frozen=True, eq=False)
class CellStates:
    """States of recordings, each (recording, second, place, substance)."""

    concentration: np.ndarray
    """Of each cell [mol/m³]."""
    flux: np.ndarray
    """Diffusive, through each edge [mol/(m² s)]."""
    coverage: np.ndarray
    """Of each sensor [–]."""


@dataclass(frozen=True)
class StateScore:
    """R² of one quantity on one protocol, as inferred and with one factor per substance."""

    protocol: str
    quantity: str
    raw: float
    scaled: float
    recordings: int


def state_scores(bench: NetworkBench, model: UnMixNet) -> list[StateScore]:
    """R² on the tests of a fold; factors come from its training recordings."""
    training = hold_out(bench.fold.train, share=bench.config.data.validation).train
    scale = factors(inferred_states(bench, model, training), true_states_of(bench, training))
    scores = []
    for protocol, pieces in bench.fold.tests.items():
        guess, truth = inferred_states(bench, model, pieces), true_states_of(bench, pieces)
        for quantity in QUANTITIES:
            x_hat, x = (getattr(states, quantity) for states in (guess, truth))
            raw, scaled = (r_squared(part.ravel(), x.ravel()) for part in (x_hat, x_hat * scale[quantity]))
            scores.append(StateScore(protocol, quantity, raw, scaled, len(x)))
    return scores


def factors(guess: CellStates, truth: CellStates) -> dict[str, np.ndarray]:
    """For each quantity the factors Σ x x̂ / Σ x̂² of every substance; those of the flux are the concentration's."""

    def fitted(x_hat: np.ndarray, x: np.ndarray) -> np.ndarray:
        rest = (0, 1, 2)
        size = np.sum(x_hat**2, axis=rest)
        return np.where(size > 0, np.sum(x * x_hat, axis=rest) / np.where(size > 0, size, 1), 1)

    concentration = fitted(guess.concentration, truth.concentration)
    return {
        "concentration": concentration,
        "flux": concentration,
        "coverage": fitted(guess.coverage, truth.coverage),
    }


def inferred_states(bench: NetworkBench, model: UnMixNet, pieces: Sequence[Piece]) -> CellStates:
    """States that the model's solver goes through for the first window of every recording."""
    cut, owner = bench.windows(pieces)
    cut = cut[np.unique(owner, return_index=True)[1]]
    filled = np.resize(cut, (-(-len(cut) // _BATCH) * _BATCH, *cut.shape[1:]))
    with jax.enable_x64(False):
        parts = [_solved(model, jnp.asarray(part, jnp.float32)) for part in np.split(filled, len(filled) // _BATCH)]
    # (recording, second, species, place)
    whole = (np.concatenate([np.asarray(part[i], float) for part in parts])[: len(cut), :, 1:] for i in range(3))
    N, J, theta = (part.swapaxes(2, 3) for part in whole)
    return CellStates(N / model.chamber.volume_m3[:, None], J, theta)


@eqx.filter_jit
def _solved(model: UnMixNet, windows: jax.Array) -> PyTree:
    save = ("N", "J", "theta", "y")
    run = model.reconstruct_all(jax.vmap(model)(windows), windows[:, 0], windows.shape[1], save=save).rollout
    return samples_first((run.saved.N, run.saved.J, run.saved.theta), len(windows))


def true_states_of(bench: NetworkBench, pieces: Sequence[Piece]) -> CellStates:
    """The truth at the seconds that a window's solver steps end at."""
    data = bench.fold.data
    place = {entry.path: i for i, entry in enumerate(data.entries)}
    truth = true_states(data, [place[piece.path] for piece in pieces])
    seconds = bench.config.model.step_s * np.arange(1, 1 + (bench.config.window - 1) // bench.config.settings.stride)
    rows = np.searchsorted(truth.time_s, seconds - 1e-9)
    return CellStates(truth.concentration[:, rows], truth.flux[:, rows], truth.coverage[:, rows])

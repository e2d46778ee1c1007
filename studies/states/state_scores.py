r"""Are the states that a model infers the true ones? R² of concentration, flux and coverage on simulated recordings.

    R² = 1 − Σ (x̂ − x)² / Σ (x − x̄)²        over recordings, seconds, cells (edges, sensors) and substances

The sensors see only k_ads c, so that concentrations are known up to one factor per substance. Beside the raw R² stands
the one after such factors were fitted, on training recordings alone: concentration and flux share theirs, coverage has
its own (a small coverage is known only as β θ).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import NetworkBench
from studies.states.simulated_truth import true_states
from unmixnet.metrics import r_squared
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.protocols import Piece, hold_out

__all__ = ["QUANTITIES", "StateScore", "States", "factors", "inferred_states", "state_scores", "true_states_of"]

QUANTITIES = ("concentration", "flux", "coverage")
_BATCH = 32


@dataclass(frozen=True, eq=False)
class States:
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
    """R² on the tests of a turn; factors come from its training recordings."""
    training = hold_out(bench.turn.train, share=bench.config.data.validation).train
    scale = factors(inferred_states(bench, model, training), true_states_of(bench, training))
    found = []
    for protocol, pieces in bench.turn.tests.items():
        guess, truth = inferred_states(bench, model, pieces), true_states_of(bench, pieces)
        for quantity in QUANTITIES:
            x_hat, x = (getattr(states, quantity) for states in (guess, truth))
            raw, scaled = (r_squared(part.ravel(), x.ravel()) for part in (x_hat, x_hat * scale[quantity]))
            found.append(StateScore(protocol, quantity, raw, scaled, len(x)))
    return found


def factors(guess: States, truth: States) -> dict[str, np.ndarray]:
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


def inferred_states(bench: NetworkBench, model: UnMixNet, pieces: Sequence[Piece]) -> States:
    """States that the model's solver goes through for the first window of every recording."""
    cut, owner = bench.windows(pieces)
    cut = cut[np.unique(owner, return_index=True)[1]]
    filled = np.resize(cut, (-(-len(cut) // _BATCH) * _BATCH, *cut.shape[1:]))
    with jax.enable_x64(False):
        parts = [_solved(model, jnp.asarray(part, jnp.float32)) for part in np.split(filled, len(filled) // _BATCH)]
    N, J, theta = (
        np.concatenate([np.asarray(part[i], float) for part in parts])[: len(cut), ..., 1:] for i in range(3)
    )
    return States(N / model.chamber.volume_m3[:, None], J, theta)


@eqx.filter_jit
def _solved(model: UnMixNet, windows: jax.Array) -> PyTree:
    def one(Y: jax.Array) -> PyTree:
        saved = model.reconstruct(model(Y), Y[0], Y.shape[0], save=("N", "J", "theta", "y")).rollout.saved
        return saved.N, saved.J, saved.theta

    return jax.vmap(one)(windows)


def true_states_of(bench: NetworkBench, pieces: Sequence[Piece]) -> States:
    """The truth at the seconds that a window's solver steps end at."""
    data = bench.turn.data
    place = {entry.path: i for i, entry in enumerate(data.entries)}
    truth = true_states(data, [place[piece.path] for piece in pieces])
    seconds = bench.config.model.step_s * np.arange(1, 1 + (bench.config.window - 1) // bench.config.settings.stride)
    rows = np.searchsorted(truth.time_s, seconds - 1e-9)
    return States(truth.concentration[:, rows], truth.flux[:, rows], truth.coverage[:, rows])

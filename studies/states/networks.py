"""States that a trained network implies: its own rollout, or hidden states that are projected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from studies.harness.benches import NetworkBench
from studies.harness.work import Job, Work
from studies.states.physical import PhysicalStates
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.storage import from_tensors
from unmixnet.model.batches import samples_first
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.protocols import Piece

__all__ = [
    "PENALTIES",
    "OwnStates",
    "Projection",
    "StateProjection",
    "fit_projection",
    "fit_states",
    "gauged",
    "hidden_states",
    "own_states",
    "restored",
    "steps_of",
]

_BATCH = 32


@dataclass(frozen=True, eq=False)
class OwnStates:
    """What UnMixNet's solver goes through, and how well it obeys its own laws.

    Arguments:
        ms_residual, mass_error: mean over the steps of each recording, (n,).
        signal: reconstructed, (n, T, M).
    """

    states: PhysicalStates
    ms_residual: np.ndarray
    mass_error: np.ndarray
    signal: np.ndarray

    @property
    def features(self) -> np.ndarray:
        """The rollout as if it were a hidden state, (n, T, width)."""
        s = self.states
        return np.concatenate([part.reshape(*part.shape[:2], -1) for part in (s.concentration, s.coverage)], axis=2)


def restored(bench: NetworkBench, job: Job, work: Work) -> PyTree:
    """The network with the weights that its job kept."""
    kept = work.read_weights(job)
    if kept is None:
        raise ConfigError(
            f"the weights of {job.variant.name}, seed {job.seed}, are not in the work folder",
            where=str(work.folder / job.place),
            remedy=f"Run it before, or with --only '{job.variant.name}'",
        )
    with jax.enable_x64(False):
        return from_tensors(kept, bench.model(job.seed), str(job.place))


def steps_of(bench: NetworkBench) -> int:
    """Solver steps of one second in a window."""
    return (bench.config.window - 1) // bench.config.settings.stride


def hidden_states(bench: NetworkBench, model: PyTree, pieces: Sequence[Piece]) -> np.ndarray:
    """Hidden states of a baseline at the ends of the solver's steps, first window of each recording, (n, T, width)."""
    stride, steps = bench.config.settings.stride, steps_of(bench)
    (hidden,) = _batched(_hidden, model, _first_windows(bench, pieces))
    return hidden[:, stride : steps * stride + 1 : stride]


def own_states(bench: NetworkBench, model: UnMixNet, pieces: Sequence[Piece]) -> OwnStates:
    """The rollout of UnMixNet for the first window of each recording."""
    N, J, theta, y, ms, mass = _batched(_solved, model, _first_windows(bench, pieces))
    N, J, theta = (part[:, :, 1:].swapaxes(2, 3) for part in (N, J, theta))
    cells = np.array([model.chamber.index[sensor.cell] for sensor in model.chamber.sensors])
    states = PhysicalStates(N / model.chamber.volume_m3[:, None], J, theta, N.sum(axis=2), cells)
    return OwnStates(states, ms.mean(axis=1), mass.mean(axis=1), y)


def gauged(
    own: PhysicalStates, own_train: PhysicalStates, reference: PhysicalStates, *, same_graph: bool
) -> PhysicalStates:
    """States with one factor per substance, fitted on training recordings: sensors fix concentrations up to one.

    Concentration and flux share theirs where the graphs are the same; else the flux has a single one.
    """

    def factor(x: np.ndarray, target: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        size = np.sum(x**2, axis=axes)
        return np.where(size > 0, np.sum(x * target, axis=axes) / np.where(size > 0, size, 1), 1)

    c = factor(own_train.at_sensors, reference.at_sensors, (0, 1, 2))
    scalars = own_train.scalars()["J"], reference.scalars()["J"]
    return replace(
        own,
        concentration=own.concentration * c,
        flux=own.flux * (c if same_graph else factor(*scalars, (0, 1))),
        coverage=own.coverage * factor(own_train.coverage, reference.coverage, (0, 1, 2)),
        mass=own.mass * (c if same_graph else factor(own_train.mass, reference.mass, (0, 1))),
    )


def _first_windows(bench: NetworkBench, pieces: Sequence[Piece]) -> np.ndarray:
    cut, owner = bench.windows(pieces)
    return cut[np.unique(owner, return_index=True)[1]]


def _batched(run: Any, model: PyTree, windows: np.ndarray) -> list[np.ndarray]:
    """In batches of one size, so that it compiles once."""
    filled = np.resize(windows, (-(-len(windows) // _BATCH) * _BATCH, *windows.shape[1:]))
    with jax.enable_x64(False):
        parts = [run(model, jnp.asarray(part, jnp.float32)) for part in np.split(filled, len(filled) // _BATCH)]
        return [
            np.concatenate([np.asarray(p, float) for p in column])[: len(windows)]
            for column in zip(*parts, strict=True)
        ]


@eqx.filter_jit
def _hidden(model: PyTree, windows: jax.Array) -> tuple[jax.Array]:
    return (jax.vmap(lambda Y: model(Y).hidden)(windows),)


@eqx.filter_jit
def _solved(model: UnMixNet, windows: jax.Array) -> tuple[jax.Array, ...]:
    save = ("N", "J", "theta", "y", "closure")
    run = model.reconstruct_all(jax.vmap(model)(windows), windows[:, 0], windows.shape[1], save=save).rollout
    saved: Any = samples_first(run.saved, len(windows))
    return saved.N, saved.J, saved.theta, saved.y, saved.closure.ms_residual, saved.closure.mass_error


PENALTIES = tuple(10.0**k for k in range(-6, 4))
"""α, per training row."""


@dataclass(frozen=True, eq=False)
class Projection:
    """s = P (h − mean)/sd + b."""

    mean: np.ndarray
    sd: np.ndarray
    P: np.ndarray
    """(width, outputs)."""
    b: np.ndarray
    penalty: float

    def __call__(self, hidden: np.ndarray) -> np.ndarray:
        """States (…, outputs) of hidden states (…, width)."""
        return (hidden - self.mean) / self.sd @ self.P + self.b


@dataclass(frozen=True, eq=False)
class StateProjection:
    """One projection for each quantity."""

    parts: dict[str, Projection]
    like: PhysicalStates
    """Gives the shapes and the places of the sensors."""

    def __call__(self, hidden: np.ndarray) -> PhysicalStates:
        """Projected states of hidden states (n, T, width)."""
        made = {}
        for name, projection in self.parts.items():
            shape = getattr(self.like, name).shape[2:]
            made[name] = projection(hidden).reshape(*hidden.shape[:2], *shape)
        return PhysicalStates(**made, sensor_cell=self.like.sensor_cell)


def fit_projection(
    train: tuple[np.ndarray, np.ndarray], validation: tuple[np.ndarray, np.ndarray], *, intercept: bool = True
) -> Projection:
    """The projection of flat rows (hidden, state); `intercept=False` is the paper's printed form."""
    hidden, states = train
    mean = hidden.mean(axis=0) if intercept else np.zeros(hidden.shape[1])
    sd = hidden.std(axis=0)
    # A constant unit carries no information; a floor keeps a test recording that does move it from exploding.
    sd = np.where(sd > 1e-6 * max(sd.max(), 1e-30), sd, 1.0)
    b = states.mean(axis=0) if intercept else np.zeros(states.shape[1])
    X = (hidden - mean) / sd
    solve = _ridge(X, states - b)
    tried = [Projection(mean, sd, solve(alpha * len(X)), b, alpha) for alpha in PENALTIES]
    errors = [float(np.mean((candidate(validation[0]) - validation[1]) ** 2)) for candidate in tried]
    return tried[int(np.argmin(errors))]


def fit_states(
    hidden: np.ndarray, states: PhysicalStates, held_hidden: np.ndarray, held_states: PhysicalStates
) -> StateProjection:
    """Projections onto C (of every cell), J, θ and M from hidden states (n, T, width) of training recordings.

    Arguments:
        held_hidden, held_states: validation recordings, which choose the penalties.
    """

    def rows(array: np.ndarray) -> np.ndarray:
        return array.reshape(array.shape[0] * array.shape[1], -1)

    parts = {
        name: fit_projection(
            (rows(hidden), rows(getattr(states, name))), (rows(held_hidden), rows(getattr(held_states, name)))
        )
        for name in ("concentration", "flux", "coverage", "mass")
    }
    return StateProjection(parts, states.chosen(slice(0, 1)))


def _ridge(X: np.ndarray, Y: np.ndarray) -> Callable[[float], np.ndarray]:
    """(XᵀX + λ I)⁻¹ Xᵀ Y for any λ, from one eigendecomposition."""
    values, vectors = np.linalg.eigh(X.T @ X)
    turned = vectors.T @ (X.T @ Y)
    return lambda penalty: vectors @ (turned / (np.maximum(values, 0) + penalty)[:, None])

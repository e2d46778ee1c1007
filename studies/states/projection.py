r"""Ridge projections from hidden states to physical states, for models that have none of their own.

    P* = arg min_P Σ_r ‖P h + b − s‖² + α ‖P‖²        over training recordings r and their time steps

for each of C, J, θ and M; h is the hidden state in units of its standard deviation over training. α is the one of a
grid whose error on validation recordings is smallest. No test recording enters.

**Departure from the paper**: an intercept b that is not shrunk, in the baselines' favour: without it the level of a
state has to come out of h.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from studies.states.physical import PhysicalStates

__all__ = ["PENALTIES", "Projection", "StateProjection", "fit_projection", "fit_states"]

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
    # A unit that never moves says nothing; a floor keeps a test recording that does move it from exploding.
    sd = np.where(sd > 1e-6 * max(sd.max(), 1e-30), sd, 1.0)
    b = states.mean(axis=0) if intercept else np.zeros(states.shape[1])
    X = (hidden - mean) / sd
    solve = _ridge(X, states - b)
    tried = [Projection(mean, sd, solve(alpha * len(X)), b, alpha) for alpha in PENALTIES]
    errors = [float(np.mean((one(validation[0]) - validation[1]) ** 2)) for one in tried]
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

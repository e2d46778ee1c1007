"""Laws without physics, fitted to the same recordings with the same session nuisances: what physics has to beat.

constant   the level of the most plentiful substance
pure mean  Σ a_i h_i, h_i from recordings of one substance alone
linear     Σ a_i h_i, h_i by least squares from all recordings
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from unmixnet.training.calibration.blocks import Nuisances, seen
from unmixnet.training.calibration.calibrate import Calibration, Setup
from unmixnet.training.calibration.forward import Levels, LinearLaw, Physics
from unmixnet.training.calibration.least_squares import Problem, levenberg_marquardt
from unmixnet.training.calibration.losses import CalibrationWeights, Noise
from unmixnet.training.calibration.priors import NuisancePrior
from unmixnet.training.calibration.recordings import Recordings, fingerprints_of

__all__ = ["NULLS", "Law", "null_laws", "physics_law"]

NULLS = ("constant", "pure mean", "linear")
_WIDE = 3.0
"""Prior sd of a level, in standard deviations of the training signal."""


@dataclass(frozen=True, eq=False)
class Law:
    """A fitted law, ready to play recipes.

    Arguments:
        played: how it reads a recipe.
        nuisances: of the training recordings.
        prior: of the nuisances.
    """

    name: str
    forward: Any
    params: Any
    nuisances: Nuisances
    noise: Noise
    prior: NuisancePrior
    played: Callable[[Recordings], Recordings] = lambda told: told

    def trace(self, told: Recordings, nuisances: Nuisances) -> np.ndarray:
        """Ŷ, shape (n, T, M)."""
        return seen(self.forward, self.params, self.played(told), nuisances)


def physics_law(setup: Setup, found: Calibration) -> Law:
    """The calibrated solver."""
    prior = setup.prior_nuisance
    return Law("physics", Physics.of(setup.jar), found.theta, found.nuisances, found.noise, prior)


def null_laws(setup: Setup, *, iterations: int = 8) -> tuple[Law, ...]:
    """The null laws, fitted."""
    train = setup.train
    return (
        _fitted("constant", setup, train, _dominant, iterations),
        _fitted("pure mean", setup, train[train.pure] if train.pure.any() else train, _same, iterations),
        _fitted("linear", setup, train, _same, iterations),
    )


def _fitted(
    name: str, setup: Setup, told: Recordings, played: Callable[[Recordings], Recordings], iterations: int
) -> Law:
    told, prior = played(told), replace(setup.nuisance, exposure=0.0)
    K, M = told.ratios.shape[1], told.Y.shape[2]
    level = told.Y.mean(axis=(0, 1))
    forward: Any = LinearLaw(jnp.asarray(setup.air), told.Y.shape[1])
    params, noise = Levels(jnp.asarray(np.tile(level, (K, 1)))), Noise.of(M)
    nuisances = Nuisances.none(len(told), len(told.sessions), M)
    none = fingerprints_of(told)[np.zeros(0, int)]
    for _ in range(2):
        problem = Problem(
            forward,
            frozenset({"h"}),
            told,
            none,
            np.tile(level, K),
            np.full(K * M, _WIDE),
            prior,
            CalibrationWeights(H=0, mix=0),
            noise,
            noise,
        )
        fit = levenberg_marquardt(problem, params, nuisances, iterations=iterations)
        params, nuisances = fit.params, fit.nuisances
        noise = Noise.estimated(told.Y - seen(forward, params, told, nuisances))
    return Law(name, forward, params, nuisances, noise, prior, played)


def _same(told: Recordings) -> Recordings:
    return told


def _dominant(told: Recordings) -> Recordings:
    """The recipe with all of its share in the most plentiful substance."""
    return replace(told, ratios=np.eye(told.ratios.shape[1])[np.argmax(told.ratios, axis=1)], most=told.largest)

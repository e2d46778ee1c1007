"""Share of variance that a law explains, beside laws without physics fitted to the same recordings."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from unmixnet.training.calibration.calibrate import CalibrationFit
from unmixnet.training.calibration.forward import Levels, LinearLaw, Nuisances, Physics, predicted_traces
from unmixnet.training.calibration.least_squares import CalibrationProblem, levenberg_marquardt
from unmixnet.training.calibration.losses import CalibrationWeights, Noise
from unmixnet.training.calibration.setup import Recordings, Setup, fingerprints_of
from unmixnet.training.calibration.theta import NuisancePrior

__all__ = ["NULLS", "FittedLaw", "Score", "in_sample", "new_sessions", "null_laws", "out_of_sample", "physics_law"]

NULLS = ("constant", "pure mean", "linear")
_WIDE = 3.0
"""Prior sd of a level, in standard deviations of the training signal."""


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A fitted law that predicts traces from recipes.

    Arguments:
        recipes_of: how it reads a recipe.
        nuisances: of the training recordings.
        prior: of the nuisances.
    """

    name: str
    forward: Any
    params: Any
    nuisances: Nuisances
    noise: Noise
    prior: NuisancePrior
    recipes_of: Callable[[Recordings], Recordings] = lambda recordings: recordings

    def trace(self, recordings: Recordings, nuisances: Nuisances) -> np.ndarray:
        """Ŷ, shape (n, T, M)."""
        return predicted_traces(self.forward, self.params, self.recipes_of(recordings), nuisances)


def physics_law(setup: Setup, calibrated: CalibrationFit) -> FittedLaw:
    """The calibrated solver."""
    prior = setup.prior_nuisance
    return FittedLaw("physics", Physics.of(setup.jar), calibrated.theta, calibrated.nuisances, calibrated.noise, prior)


def null_laws(setup: Setup, *, iterations: int = 8) -> tuple[FittedLaw, ...]:
    """The null laws, fitted."""
    train = setup.train
    return (
        _fitted("constant", setup, train, _dominant, iterations),
        _fitted("pure mean", setup, train[train.pure] if train.pure.any() else train, _same, iterations),
        _fitted("linear", setup, train, _same, iterations),
    )


def _fitted(
    name: str, setup: Setup, recordings: Recordings, recipes_of: Callable[[Recordings], Recordings], iterations: int
) -> FittedLaw:
    recordings, prior = recipes_of(recordings), replace(setup.nuisance, exposure=0.0)
    K, M = recordings.ratios.shape[1], recordings.Y.shape[2]
    level = recordings.Y.mean(axis=(0, 1))
    forward: Any = LinearLaw(jnp.asarray(setup.air), recordings.Y.shape[1])
    params, noise = Levels(jnp.asarray(np.tile(level, (K, 1)))), Noise.of(M)
    nuisances = Nuisances.none(len(recordings), len(recordings.sessions), M)
    none = fingerprints_of(recordings)[np.zeros(0, int)]
    for _ in range(2):
        problem = CalibrationProblem(
            forward,
            frozenset({"h"}),
            recordings,
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
        noise = Noise.estimated(recordings.Y - predicted_traces(forward, params, recordings, nuisances))
    return FittedLaw(name, forward, params, nuisances, noise, prior, recipes_of)


def _same(recordings: Recordings) -> Recordings:
    return recordings


def _dominant(recordings: Recordings) -> Recordings:
    """The recipe with all of its share in the most plentiful substance."""
    return replace(
        recordings,
        ratios=np.eye(recordings.ratios.shape[1])[np.argmax(recordings.ratios, axis=1)],
        most=recordings.largest,
    )


REFERENCES = 3


@dataclass(frozen=True, eq=False)
class Score:
    """R² of a law on recordings.

    Arguments:
        where: "in sample", "test", "new sessions" …
        levels: which nuisances were allowed.
        sensors: R² of each sensor.
        substances: R² over the recordings in which a substance is the most plentiful, all sensors; None without any.
        total: all sensors and recordings together.
        lo, hi: 95 % interval of it, by resampling recordings.
    """

    law: str
    where: str
    levels: str
    recordings: int
    sensors: tuple[float, ...]
    substances: tuple[float | None, ...]
    total: float
    lo: float
    hi: float


def in_sample(law: FittedLaw, train: Recordings) -> list[Score]:
    """On the training recordings: without nuisances, with those of sessions, with all where the law has them."""
    mean = train.Y.mean(axis=(0, 1))
    n = len(train)
    nothing = Nuisances.none(n, *law.nuisances.log_gain.shape)
    session = Nuisances(np.zeros(n), np.zeros(n), law.nuisances.log_gain, law.nuisances.offset)
    ways = {"none": nothing, "session": session}
    if len(law.nuisances.log_strength) == n:
        ways["all"] = law.nuisances
    return [_score(law, train, mean, "in sample", way, nuisances) for way, nuisances in ways.items()]


def out_of_sample(law: FittedLaw, train: Recordings, test: Recordings, where: str = "test") -> list[Score]:
    """On recordings that nothing was fitted to; sessions that training has may lend their levels."""
    mean, n = train.Y.mean(axis=(0, 1)), len(test)
    nothing = Nuisances.none(n, *law.nuisances.log_gain.shape)
    scores = [_score(law, test, mean, where, "none", nothing)]
    if np.any(test.session >= 0):
        session = Nuisances(np.zeros(n), np.zeros(n), law.nuisances.log_gain, law.nuisances.offset)
        scores.append(_score(law, test, mean, where, "session", session))
    return scores


def new_sessions(
    law: FittedLaw, train: Recordings, test: Recordings, sessions: np.ndarray, *, references: int = REFERENCES
) -> list[Score]:
    """On whole sessions that are not in training: as they are, and with levels from their first recordings."""
    mean, n, M = train.Y.mean(axis=(0, 1)), len(test), test.Y.shape[2]
    nothing = Nuisances.none(n, 1, M)
    plain = law.trace(_without(test), nothing)
    rest = np.concatenate([np.flatnonzero(sessions == name)[references:] for name in np.unique(sessions)])
    gain, offset = np.ones((n, M)), np.zeros((n, M))
    air = np.asarray(law.forward.air(law.params), float)
    for name in np.unique(sessions):
        mine = np.flatnonzero(sessions == name)
        gain[mine], offset[mine] = session_levels(law, test.Y[mine[:references]], plain[mine[:references]], air)
    moved = air + offset[:, None] + gain[:, None] * (plain - air)
    return [
        _of(law, test, mean, "new sessions", "none", plain),
        _of(law, test[rest], mean, "new sessions, rest", "none", plain[rest]),
        _of(law, test[rest], mean, "new sessions, rest", "references", moved[rest]),
    ]


def session_levels(law: FittedLaw, Y: np.ndarray, y: np.ndarray, air: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gain and offset of a session from references: Ȳ − ȳ = o + γ (ȳ − air), ridge by the priors, shape (M,) each."""
    level, guess = Y.mean(axis=1), y.mean(axis=1)
    M = level.shape[1]
    gain, offset = np.ones(M), np.zeros(M)
    for m in range(M):
        A = np.stack([guess[:, m] - air[m], np.ones(len(level))], axis=1) / law.noise.level[m]
        r = (level[:, m] - guess[:, m]) / law.noise.level[m]
        prior = np.diag([max(law.prior.gain, 1e-3) ** -2.0, max(law.prior.offset, 1e-3) ** -2.0])
        log_gain, offset[m] = np.linalg.solve(A.T @ A + prior, A.T @ r)
        gain[m] = np.exp(log_gain)
    return gain, offset


def _without(recordings: Recordings) -> Recordings:
    """The recordings without their sessions."""
    none = np.full(len(recordings), -1)
    return Recordings(recordings.Y, recordings.ratios, none, recordings.sessions, recordings.names, recordings.largest)


def _score(
    law: FittedLaw, recordings: Recordings, mean: np.ndarray, where: str, levels: str, nuisances: Nuisances
) -> Score:
    return _of(law, recordings, mean, where, levels, law.trace(recordings, nuisances))


def _of(law: FittedLaw, recordings: Recordings, mean: np.ndarray, where: str, levels: str, guess: np.ndarray) -> Score:
    off, spread = np.sum((recordings.Y - guess) ** 2, axis=1), np.sum((recordings.Y - mean) ** 2, axis=1)
    main = np.argmax(recordings.ratios, axis=1)
    substances = tuple(
        _share(off[main == i], spread[main == i]) if np.any(main == i) else None
        for i in range(recordings.ratios.shape[1])
    )
    lo, hi = _interval(off.sum(axis=1), spread.sum(axis=1))
    sensors = tuple(_share(off[:, m], spread[:, m]) for m in range(off.shape[1]))
    return Score(law.name, where, levels, len(recordings), sensors, substances, _share(off, spread), lo, hi)


def _share(off: Any, spread: Any) -> float:
    return float(1 - np.sum(off) / np.sum(spread))


def _interval(off: np.ndarray, spread: np.ndarray, draws: int = 1000) -> tuple[float, float]:
    """95 % interval by resampling recordings."""
    rows = np.random.default_rng(0).integers(len(off), size=(draws, len(off)))
    lo, hi = np.quantile(1 - off[rows].sum(axis=1) / spread[rows].sum(axis=1), [0.025, 0.975])
    return float(lo), float(hi)

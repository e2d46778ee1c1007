"""Features of windows: (n, T, C) in, (n, F) out, each with the words that go beside a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.samples import Samples, Task

__all__ = ["CHANGES", "FLAT", "LOG_MEANS", "MEANS", "NOTHING", "PEERS", "STATISTICS", "Features", "Fitted", "Peer"]


@dataclass(frozen=True)
class Features:
    """A name to print, and the function."""

    name: str
    of: Callable[[np.ndarray], np.ndarray]


def _nothing(windows: np.ndarray) -> np.ndarray:
    return np.zeros((len(windows), 1))


def _means(windows: np.ndarray) -> np.ndarray:
    return windows.mean(axis=1)


def _log_means(windows: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(windows, 1e-3)).mean(axis=1)


def _statistics(windows: np.ndarray) -> np.ndarray:
    T = windows.shape[1]
    t = np.arange(T) - (T - 1) / 2
    slope = np.einsum("t,ntc->nc", t, windows) / max(float(t @ t), 1.0)
    parts = (
        windows.mean(axis=1),
        windows.std(axis=1),
        slope,
        windows[:, -1] - windows[:, 0],
        windows.min(axis=1),
        windows.max(axis=1),
    )
    return np.concatenate(parts, axis=1)


def _changes(windows: np.ndarray) -> np.ndarray:
    """What UnMixNet reads of a long window at one row per second."""
    import jax

    from unmixnet.model.statistics import Statistics

    with jax.enable_x64(False):
        reader = Statistics.of(1, windows.shape[2], 1.0, jax.random.key(0))
        statistics = jax.jit(lambda all_of_them: jax.lax.map(reader.statistics, all_of_them, batch_size=64))
        return np.asarray(statistics(windows.astype(np.float32)), float).reshape(len(windows), -1)


def _flat(windows: np.ndarray) -> np.ndarray:
    return windows.reshape(len(windows), -1)


NOTHING = Features("nothing", _nothing)
MEANS = Features("mean of each channel over the window", _means)
LOG_MEANS = Features("mean logarithm of each channel over the window", _log_means)
STATISTICS = Features("mean, sd, slope, last − first, min, max of each channel", _statistics)
CHANGES = Features("statistics of compressed levels and changes of each channel", _changes)
FLAT = Features("all values of the window", _flat)


Weights = Literal["uniform", "distance"]
_ALPHAS = tuple(10.0**power for power in range(-1, 7))


Predict = Callable[[np.ndarray], np.ndarray]
"""From features of shape (n, F) to targets of shape (n, K)."""
Make = Callable[[np.ndarray, Samples, Task, int], Predict]
"""Fits a model to features and samples, for a task, with a seed."""


@dataclass(frozen=True)
class Peer:
    """A model and the features it sees.

    Arguments:
        name: as printed.
        features: what it sees of a window.
        how: the model in one sentence.
        seeded: whether its result depends on a seed.
        make: fits it to features and samples.
    """

    name: str
    features: Features
    how: str
    seeded: bool
    make: Make

    def fit(self, samples: Samples, task: Task, *, seed: int = 0) -> "Fitted":
        """Fit to training samples."""
        return Fitted(self, task, self.make(self.features.of(samples.windows), samples, task, seed))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A peer that has seen its training samples."""

    peer: Peer
    task: Task
    model: Predict

    def predict(self, windows: np.ndarray) -> np.ndarray:
        """Ratios on the simplex, class scores, or concentrations, shape (n, K)."""
        values = np.asarray(self.model(self.peer.features.of(windows)), dtype=float)
        return _onto_simplex(values) if self.task is Task.RATIOS else values


def _chance(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
    targets = samples.targets
    return lambda X: targets[np.random.default_rng(seed).integers(len(targets), size=len(X))]


def _mean(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
    mean = samples.targets.mean(axis=0)
    return lambda X: np.tile(mean, (len(X), 1))


def _neighbours(count: int, *, scaled: bool = False, weights: Weights = "uniform") -> Make:
    def make(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
        from sklearn.neighbors import KNeighborsRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = KNeighborsRegressor(count, weights=weights, algorithm="kd_tree")
        return (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, samples.targets).predict

    return make


def _trees(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    if task is not Task.CLASSES:
        return ExtraTreesRegressor(300, random_state=seed).fit(X, samples.targets).predict
    model = ExtraTreesClassifier(300, random_state=seed).fit(X, samples.targets.argmax(axis=1))

    def scores(X: np.ndarray) -> np.ndarray:
        """Scores for every class, zero for those that training lacks."""
        all_classes = np.zeros((len(X), samples.targets.shape[1]))
        all_classes[:, model.classes_] = model.predict_proba(X)
        return all_classes

    return scores


def _ridge(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
    """Ridge on standardised features; the penalty is chosen on a fifth of the training recordings."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def fit(alpha: float, rows: np.ndarray) -> Predict:
        return make_pipeline(StandardScaler(), Ridge(alpha)).fit(X[rows], samples.targets[rows]).predict

    held = _held_out(samples)
    errors = [np.mean((fit(alpha, ~held)(X[held]) - samples.targets[held]) ** 2) for alpha in _ALPHAS]
    return fit(_ALPHAS[int(np.argmin(errors))], np.ones(len(samples), dtype=bool))


def _quadratic_ridge(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
    """Ridge on standardised features and their products of two; penalty by leaving single samples out.

    For plateaus, where every sample is a recording of its own.
    """
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    steps = (StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler(), RidgeCV(_ALPHAS))
    return make_pipeline(*steps).fit(X, samples.targets).predict


def _mini_rocket(X: np.ndarray, samples: Samples, task: Task, seed: int) -> Predict:
    """MiniRocket features of the windows, then ridge with the penalty chosen as for ridge."""
    try:
        from aeon.transformations.collection.convolution_based import MiniRocket
    except ImportError:
        raise ConfigError(
            "MiniRocket needs the package aeon, which is not installed",
            remedy="pip install 'unmixnet[rocket]'",
        ) from None
    shape = samples.windows.shape[1:]
    rocket = MiniRocket(n_kernels=2_000, random_state=seed)

    def transform(flat: np.ndarray, how: Callable[[np.ndarray], object]) -> np.ndarray:
        series = flat.reshape(-1, *shape).transpose(0, 2, 1)
        return np.asarray(how(np.ascontiguousarray(series, dtype=np.float32)), dtype=float)

    inner = _ridge(transform(X, rocket.fit_transform), samples, task, seed)
    return lambda flat: inner(transform(flat, rocket.transform))


def _held_out(samples: Samples, share: float = 0.2) -> np.ndarray:
    """A fifth of the recordings, always the same, as a mask over windows."""
    names = sorted(set(samples.recordings))
    chosen = np.random.default_rng(0).permutation(names)[: max(int(share * len(names)), 1)]
    return np.isin(np.array(samples.recordings), chosen)


def _onto_simplex(values: np.ndarray) -> np.ndarray:
    """Negative shares become zero, the rest is scaled to one; a row of zeros becomes uniform."""
    positive = np.maximum(values, 0)
    total = positive.sum(axis=1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / values.shape[1])


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("chance", NOTHING, "the label of a random training window", True, _chance),
        Peer("mean", NOTHING, "the mean of the training labels", False, _mean),
        Peer("1-NN", MEANS, "the label of the nearest training window", False, _neighbours(1)),
        Peer("1-NN log", LOG_MEANS, "the label of the nearest training window", False, _neighbours(1)),
        Peer(
            "15-NN log weighted",
            LOG_MEANS,
            "the mean label of the 15 nearest, standardised, weighted by inverse distance",
            False,
            _neighbours(15, scaled=True, weights="distance"),
        ),
        Peer("15-NN log", LOG_MEANS, "the mean label of the 15 nearest", False, _neighbours(15)),
        Peer(
            "5-NN",
            STATISTICS,
            "the mean label of the 5 nearest, features standardised",
            False,
            _neighbours(5, scaled=True),
        ),
        Peer("ridge", STATISTICS, "ridge; penalty chosen on a fifth of the training recordings", False, _ridge),
        Peer("extra-trees", STATISTICS, "300 extremely randomised trees", True, _trees),
        Peer("extra-trees changes", CHANGES, "300 extremely randomised trees", True, _trees),
        Peer("extra-trees log", LOG_MEANS, "300 extremely randomised trees", True, _trees),
        Peer("quadratic ridge", LOG_MEANS, "ridge on features and their products", False, _quadratic_ridge),
        Peer("mini-rocket", FLAT, "MiniRocket, 2,000 kernels, then ridge", True, _mini_rocket),
    )
}
"""Every peer by name."""

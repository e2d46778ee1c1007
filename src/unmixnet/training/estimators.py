"""scikit-learn estimators: `UnmixRegressor` for shares of a mixture, `OdorClassifier` for one substance out of many.

    model = UnmixRegressor().fit(X, y, groups=sessions)      # X (recordings, time, sensors), y (recordings, substances)
    model.predict(X_new)                                     # shares: not negative, every row sums to one

X may also be flat, (recordings, time · sensors), as pipelines have it; `sensors` then says how many there are.

Everything that is refused is an `UnmixError`, with two exceptions that scikit-learn's estimator checks demand: a model
that is not fitted raises `NotFittedError`, and arrays of objects that are no numbers raise `TypeError`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unmixnet.errors import ConfigError

__all__ = ["EstimatorInputError", "OdorClassifier", "UnmixRegressor"]

_SHORTEST = 8
"""Samples that a trace needs; the samples of a shorter one are held."""
_STEPS, _PATCHES = 60, 12
"""At most so many solver steps, and about so many patches, for a trace."""


class EstimatorInputError(ConfigError, ValueError):
    """Arrays or settings that an estimator cannot take; also a `ValueError`, as scikit-learn's checks demand."""


class _TraceEstimator(BaseEstimator):
    """What both have in common.

    Arguments:
        sensors: number of sensors in a flat X.
        rate_Hz: sampling rate of the traces.
        start: `clean air` if recordings start before the odour comes (their first sample is then the baseline),
            `exposed` if it is there from the first sample on.
        model: `unmixnet`, or the name of a baseline such as `mlp`.
        size: `small` or `paper`.
        closure: whether the solver takes part; False trains the encoder alone, faster.
        epochs: at most; stops earlier if a fifth of the recordings, held out by group, gets no better.
        rate: peak learning rate.
        schooling: steps in which the encoder first learns from virtual recordings, mixtures that the solver makes once
            its physics is fitted to X and y; a few thousand cover mixtures that were not recorded.
        random_state: seed.
    """

    def __init__(
        self,
        *,
        sensors: int = 1,
        rate_Hz: float = 1.0,
        start: str = "clean air",
        model: str = "unmixnet",
        size: str = "small",
        closure: bool = True,
        epochs: int = 150,
        rate: float = 2e-3,
        schooling: int = 0,
        random_state: int | None = 0,
    ) -> None:
        self.sensors = sensors
        self.rate_Hz = rate_Hz
        self.start = start
        self.model = model
        self.size = size
        self.closure = closure
        self.epochs = epochs
        self.rate = rate
        self.schooling = schooling
        self.random_state = random_state

    def _fit(self, X: np.ndarray, targets: np.ndarray, groups: Any, *, classes: bool) -> None:
        from unmixnet.model.predict import single_precision
        from unmixnet.training.run import train

        self._check_settings()
        if groups is not None:
            self._checked(check_consistent_length, X, groups)
        self.mean_, self.sd_ = self._statistics(X)
        traces = self._signal(X)
        prepared = self._prepared(traces, targets, groups, classes=classes)
        with single_precision():
            fit = train(prepared, seed=self.random_state or 0)
        self.model_, self.n_iter_, self.history_ = fit.model, fit.epochs, fit.history

    def _checked(self, check: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
        """What scikit-learn's check returns; what it refuses is refused as an `UnmixError`."""
        try:
            return check(*arrays, **options)
        except ValueError as error:
            raise self._refused(str(error), "Check shapes and values of X and y") from None

    def _arrays(self, X: Any, *y: Any, **options: Any) -> Any:
        return self._checked(validate_data, self, X, *y, allow_nd=True, dtype=np.float64, **options)

    def _refused(self, problem: str, remedy: str) -> EstimatorInputError:
        return EstimatorInputError(problem, where=type(self).__name__, remedy=remedy)

    def _check_settings(self) -> None:
        """Those that are used before the configuration of the training checks the others."""
        if not (isinstance(self.sensors, int | np.integer) and self.sensors > 0):
            raise self._refused(f"sensors is {self.sensors!r}, expected a positive number", "Count the channels of X")
        if not 0 < self.rate_Hz < math.inf:
            raise self._refused(f"rate_Hz is {self.rate_Hz!r}, expected a positive number", "Give samples per second")
        if not (
            self.random_state is None or (isinstance(self.random_state, int | np.integer) and self.random_state >= 0)
        ):
            raise self._refused(f"random_state is {self.random_state!r}, expected a seed", "Use a number from 0 on")

    def _traces(self, X: np.ndarray) -> np.ndarray:
        """(n, T, M) from either form."""
        if X.ndim == 3:
            return X
        if X.ndim != 2 or X.shape[1] % self.sensors:
            raise self._refused(
                f"X has shape {X.shape}, expected (recordings, time, sensors) or flat traces of {self.sensors} sensors",
                "Reshape X, or set sensors",
            )
        return X.reshape(len(X), -1, self.sensors)

    def _levels(self, X: np.ndarray) -> np.ndarray:
        traces = self._traces(X)
        traces = traces - traces[:, :1] if self.start == "clean air" and traces.shape[1] > 2 else traces
        return np.repeat(traces, math.ceil(_SHORTEST / traces.shape[1]), axis=1)

    def _statistics(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        levels = self._levels(X)
        sd = levels.std(axis=(0, 1))
        return levels.mean(axis=(0, 1)), np.where(sd > 1e-12, sd, 1.0)

    def _signal(self, X: np.ndarray) -> np.ndarray:
        return ((self._levels(X) - self.mean_) / self.sd_).astype(np.float32)

    def _config(self, T: int, *, classes: bool) -> Any:
        from unmixnet.files.toml import check_values
        from unmixnet.training.config import TrainConfig

        stride, patch = math.ceil(T / _STEPS), max(1, T // _PATCHES)
        return check_values(
            {
                "data": {
                    "protocol": "arrays",
                    "task": "classes" if classes else "ratios",
                    "window_s": T / self.rate_Hz,
                    "stride_s": T / self.rate_Hz,
                },
                "model": {
                    "name": self.model,
                    "size": self.size,
                    "rate_Hz": self.rate_Hz,
                    "step_s": stride / self.rate_Hz,
                    "patch_s": patch / self.rate_Hz,
                    "start": self.start,
                    "release": "rise-decay" if self.start == "clean air" else "constant",
                    "closure": self.closure,
                },
                "objective": {"mix": 0.3} if self.schooling else {},
                "training": {"epochs": self.epochs, "patience": self.epochs, "rate": self.rate, **self._pretraining()},
            },
            TrainConfig,
            name=type(self).__name__,
        )

    def _pretraining(self) -> dict[str, Any]:
        """Fit the physics, pretrain the encoder, and keep virtual recordings in every batch."""
        if not self.schooling:
            return {}
        steps = {"calibration": min(800, self.schooling), "schooling": self.schooling, "virtual": 2.0}
        return {**steps, "virtual_offset": 0.03, "physics_rate": 0.1, "ema": 0.99}

    def _prepared(self, traces: np.ndarray, targets: np.ndarray, groups: Any, *, classes: bool) -> Any:
        from unmixnet.recordings.preprocessing import Preprocessing
        from unmixnet.training.examples import Examples
        from unmixnet.training.run import Prepared, clean_air

        n, T, M = traces.shape
        held = _held_out(n, groups, self.random_state or 0)

        def examples(rows: np.ndarray) -> Examples:
            names = tuple(str(row) for row in np.flatnonzero(rows))
            return Examples(traces[rows], np.full(rows.sum(), T), targets[rows], names, names)

        preprocessing = Preprocessing(
            tuple(f"sensor {m + 1}" for m in range(M)),
            "recording" if self.start == "clean air" else "none",
            mean=tuple(self.mean_.tolist()),
            sd=tuple(self.sd_.tolist()),
        )
        train = examples(~held)
        air, sign = clean_air(preprocessing, train)
        components = tuple(f"component {i + 1}" for i in range(targets.shape[1]))
        validation = examples(held) if held.any() else None
        sessions = () if groups is None else tuple(str(name) for name in np.asarray(groups)[~held])
        return Prepared(
            self._config(T, classes=classes), components, preprocessing, train, validation, air, sign, sessions
        )

    def _ratios(self, X: Any) -> np.ndarray:
        from unmixnet.model.predict import window_ratios

        check_is_fitted(self)
        X = self._arrays(X, reset=False)
        seen, expected = self._traces(X).shape[2], len(self.mean_)
        if seen != expected:  # scikit-learn counts the time steps of a three-dimensional X, not its sensors
            raise self._refused(
                f"X has {seen} sensors, but {type(self).__name__} is expecting {expected} sensors as input",
                "Give the sensors of the training, in their order",
            )
        return window_ratios(self.model_, self._signal(X)).astype(np.float64)


def _held_out(n: int, groups: Any, seed: int) -> np.ndarray:
    """A fifth of the recordings, whole groups where they are given; none of a handful."""
    rng = np.random.default_rng(seed)
    if groups is None:
        held = np.zeros(n, bool)
        held[rng.permutation(n)[: n // 5 if n >= 20 else 0]] = True
        return held
    names = rng.permutation(np.unique(groups))
    return np.isin(groups, names[: max(1, len(names) // 5) if len(names) > 1 else 0])


class UnmixRegressor(RegressorMixin, _TraceEstimator):
    """Shares of the substances of a mixture.

    >>> import numpy as np, unmixnet as um
    >>> shares = np.eye(2)[[0, 1, 0, 1]]
    >>> traces = np.cumsum(np.repeat(shares[:, None], 10, axis=1), axis=1)  # (recordings, time, sensors)
    >>> model = um.UnmixRegressor(model="mlp", epochs=30).fit(traces, shares)
    >>> model.predict(traces).argmax(axis=1)
    array([0, 1, 0, 1])
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> "UnmixRegressor":
        """Train on traces and shares; `groups` (sessions, days) keep validation honest."""
        X, y = self._arrays(X, y, multi_output=True, ensure_min_samples=2)
        y = np.asarray(y, np.float64)
        if y.ndim != 2 or np.any(y < 0) or np.any(np.abs(y.sum(axis=1) - 1) > 1e-3):
            raise self._refused(
                f"y of shape {y.shape} must hold shares: one column per substance, not negative, rows that sum to one",
                "Divide every row by its sum",
            )
        self._fit(X, y.astype(np.float32), groups, classes=False)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Shares, one row per recording."""
        return self._ratios(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.regressor_tags.poor_score = True
        tags.input_tags.three_d_array = True
        return tags


class OdorClassifier(ClassifierMixin, _TraceEstimator):
    """One substance out of many.

    >>> import numpy as np, unmixnet as um
    >>> traces = np.cumsum(np.repeat(np.eye(2)[[0, 1, 0, 1]][:, None], 10, axis=1), axis=1)
    >>> model = um.OdorClassifier(model="mlp", epochs=30).fit(traces, ["mint", "clove", "mint", "clove"])
    >>> model.predict(traces).tolist()
    ['mint', 'clove', 'mint', 'clove']
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> "OdorClassifier":
        """Train on traces and names; `groups` (sessions, days) keep validation honest."""
        X, y = self._arrays(X, y)
        self._checked(check_classification_targets, y)
        self.classes_, index = np.unique(y, return_inverse=True)
        self._fit(X, np.eye(len(self.classes_), dtype=np.float32)[index], groups, classes=True)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class."""
        return self._ratios(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        likeliest = self._ratios(X).argmax(axis=1)
        return self.classes_[likeliest]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.three_d_array = True
        return tags

"""Features of windows: (n, T, C) in, (n, F) out, each with the words that go beside a table."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["CHANGES", "FLAT", "LOG_MEANS", "MEANS", "NOTHING", "STATISTICS", "Features"]


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
        found = jax.jit(lambda all_of_them: jax.lax.map(reader.found, all_of_them, batch_size=64))
        return np.asarray(found(windows.astype(np.float32)), float).reshape(len(windows), -1)


def _flat(windows: np.ndarray) -> np.ndarray:
    return windows.reshape(len(windows), -1)


NOTHING = Features("nothing", _nothing)
MEANS = Features("mean of each channel over the window", _means)
LOG_MEANS = Features("mean logarithm of each channel over the window", _log_means)
STATISTICS = Features("mean, sd, slope, last − first, min, max of each channel", _statistics)
CHANGES = Features("statistics of compressed levels and changes of each channel", _changes)
FLAT = Features("all values of the window", _flat)

"""Windows with their targets, and the recording that each came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

__all__ = ["Samples", "Task", "per_recording"]


class Task(StrEnum):
    """What is predicted: shares of components, one substance out of many, or concentrations."""

    RATIOS = "ratios"
    CLASSES = "classes"
    CONCENTRATIONS = "concentrations"


@dataclass(frozen=True, eq=False)
class Samples:
    """Windows of recordings.

    Arguments:
        windows: shape (n, T, C).
        targets: shape (n, K): ratios, a one at the class, or concentrations.
        recordings: path of the recording of each window; windows of one are not independent.
        supports: components that are present in each window, joined by "+".
    """

    windows: np.ndarray
    targets: np.ndarray
    recordings: tuple[str, ...]
    supports: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.windows)


def per_recording(values: np.ndarray, recordings: Sequence[str]) -> np.ndarray:
    """Mean over the windows of each recording, in order of first appearance, shape (recordings, K)."""
    names = list(dict.fromkeys(recordings))
    place = {name: i for i, name in enumerate(names)}
    index = np.array([place[name] for name in recordings])
    total = np.zeros((len(names), values.shape[1]))
    np.add.at(total, index, values)
    return total / np.bincount(index)[:, None]

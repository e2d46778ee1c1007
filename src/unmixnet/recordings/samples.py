"""Windows with their targets, and the recording that each came from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import Recording

__all__ = ["Samples", "Task", "gather_samples", "per_recording"]


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


def gather_samples(recordings: Iterable[Recording], ready: Preprocessing, components: Sequence[str]) -> Samples:
    """Windows of labelled recordings, preprocessed by what training recordings taught."""
    windows, targets, paths, supports = [], [], [], []
    for recording in recordings:
        if recording.label is None:
            raise ConfigError(
                "a recording without a label cannot be scored", where=recording.path, remedy="Leave it out"
            )
        cut = ready.windows(recording)
        windows.append(cut)
        targets.append(np.tile(recording.label.vector(components), (len(cut), 1)))
        paths += [recording.path] * len(cut)
        supports += ["+".join(sorted(recording.label.support))] * len(cut)
    if not paths:
        raise ConfigError("no recording is long enough for one window", remedy="Use a shorter window")
    return Samples(np.concatenate(windows), np.concatenate(targets), tuple(paths), tuple(supports))


def per_recording(values: np.ndarray, recordings: Sequence[str]) -> np.ndarray:
    """Mean over the windows of each recording, in order of first appearance, shape (recordings, K)."""
    names = list(dict.fromkeys(recordings))
    place = {name: i for i, name in enumerate(names)}
    index = np.array([place[name] for name in recordings])
    total = np.zeros((len(names), values.shape[1]))
    np.add.at(total, index, values)
    return total / np.bincount(index)[:, None]

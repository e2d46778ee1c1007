"""Windows of the classical peers: so many rows at the rate of the recording, as their authors cut them.

Models that are installed take seconds at a rate of their own instead (`unmixnet.recordings.trace`).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.samples import Samples
from unmixnet.recordings.temporal import cut_windows

__all__ = ["gather_samples"]


def gather_samples(recordings: Iterable[Recording], preprocessing: Preprocessing, components: Sequence[str]) -> Samples:
    """Windows of labelled recordings, preprocessed with the statistics of training recordings."""
    windows, targets, paths, supports = [], [], [], []
    for recording in recordings:
        if recording.label is None:
            raise ConfigError(
                "a recording without a label cannot be scored", where=recording.path, remedy="Leave it out"
            )
        cut = cut_windows(preprocessing.signal(recording), preprocessing.window, preprocessing.stride)
        windows.append(cut)
        targets.append(np.tile(recording.label.vector(components), (len(cut), 1)))
        paths += [recording.path] * len(cut)
        supports += ["+".join(sorted(recording.label.support))] * len(cut)
    if not paths:
        raise ConfigError("no recording is long enough for one window", remedy="Use a shorter window")
    return Samples(np.concatenate(windows), np.concatenate(targets), tuple(paths), tuple(supports))

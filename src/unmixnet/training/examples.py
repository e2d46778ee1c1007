"""Recordings as arrays for training: one preprocessed trace each, at a rate that suits a MOX sensor."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import cut_windows
from unmixnet.recordings.trace import trace_of

__all__ = ["Examples", "gather_examples", "joined", "windows_of"]


@dataclass(frozen=True, eq=False)
class Examples:
    """Traces of n recordings with their labels.

    Arguments:
        traces: shape (n, L, M), the last rows of a shorter recording repeat its last one.
        lengths: rows that were really recorded.
        targets: shape (n, K): ratios, or a one at the class.
        names, supports: of each recording.
    """

    traces: np.ndarray
    lengths: np.ndarray
    targets: np.ndarray
    names: tuple[str, ...]
    supports: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.traces)


def gather_examples(
    recordings: Iterable[Recording],
    preprocessing: Preprocessing,
    components: Sequence[str],
    rate_Hz: float,
    window: int,
) -> Examples:
    """Preprocess labelled recordings; a recording shorter than the window is an error."""
    series, targets, names, supports = [], [], [], []
    for recording in recordings:
        if recording.label is None:
            raise ConfigError("a recording without a label cannot train", where=recording.path, remedy="Leave it out")
        if recording.sample_rate_Hz < 0.98 * rate_Hz:
            raise ConfigError(
                f"the recording has {recording.sample_rate_Hz:g} samples per second, the model takes {rate_Hz:g}",
                where=recording.path,
                remedy=f"Set model.rate_Hz to {recording.sample_rate_Hz:g} or less",
            )
        series.append(trace_of(recording, preprocessing, rate_Hz=rate_Hz, window=window).signal)
        targets.append(recording.label.vector(components))
        names.append(recording.path)
        supports.append("+".join(sorted(recording.label.support)))
    if not series:
        raise ConfigError("there is no recording to train on", remedy="Check the split")
    lengths = np.array([len(trace) for trace in series])
    padded = [np.concatenate([t, np.repeat(t[-1:], lengths.max() - len(t), axis=0)]) for t in series]
    return Examples(
        np.stack(padded).astype(np.float32), lengths, np.array(targets, np.float32), tuple(names), tuple(supports)
    )


def joined(first: Examples, second: Examples) -> Examples:
    """Both, the first ones first."""
    rows = max(first.traces.shape[1], second.traces.shape[1])
    return Examples(
        np.concatenate(
            [np.pad(one.traces, ((0, 0), (0, rows - one.traces.shape[1]), (0, 0)), "edge") for one in (first, second)]
        ),
        np.concatenate([first.lengths, second.lengths]),
        np.concatenate([first.targets, second.targets]),
        first.names + second.names,
        first.supports + second.supports,
    )


def windows_of(examples: Examples, window: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """All windows at a fixed stride, shape (n, window, M), and the index of the recording of each."""
    pairs = zip(examples.traces, examples.lengths, strict=True)
    cut = [cut_windows(trace[:length], window, stride) for trace, length in pairs]
    return np.concatenate(cut), np.repeat(np.arange(len(cut)), [len(windows) for windows in cut])

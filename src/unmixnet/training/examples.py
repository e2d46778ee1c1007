"""Recordings of a training: those that its file names, and their preprocessed traces as arrays."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset, load_dataset
from unmixnet.recordings.pieces import read_pieces
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.protocols import Piece, hold_out, protocol
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import cut_windows
from unmixnet.recordings.trace import trace_of
from unmixnet.training.config import TrainConfig

__all__ = ["ALL", "Examples", "TrainingRecordings", "gather_examples", "joined", "training_recordings", "windows_of"]


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
        trace = trace_of(recording, preprocessing, rate_Hz=rate_Hz, window=1).signal
        if len(trace) < window:
            raise ConfigError(
                f"the recording has {len(trace)} rows at {rate_Hz:g} Hz, a window has {window}",
                where=recording.path,
                remedy="Use a shorter window_s, or leave the recording out",
            )
        series.append(trace)
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
            [
                np.pad(part.traces, ((0, 0), (0, rows - part.traces.shape[1]), (0, 0)), "edge")
                for part in (first, second)
            ]
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


ALL = "folder:all"
"""Protocol that takes every labelled recording of a folder and tests on none."""


@dataclass(frozen=True, eq=False)
class TrainingRecordings:
    """Recordings to train on and to choose on, the substances of their labels, and the sessions of the training."""

    train: tuple[Recording, ...]
    validation: tuple[Recording, ...]
    components: tuple[str, ...]
    sessions: tuple[str | None, ...]


def training_recordings(
    config: TrainConfig,
    root: str | Path | None = None,
    *,
    progress: Callable[[str, int], Callable[[], None]] = lambda name, steps: lambda: None,
) -> TrainingRecordings:
    """Read them.

    Arguments:
        root: data folder for a named protocol; UNMIXNET_DATA if not given. `folder:…` has its own in the file.
        progress: `progress(name, steps)` returns what is called after every recording.
    """
    data, pieces = _training_side(config, root)
    fold = hold_out(pieces, share=config.data.validation)
    tick = progress("Reading recordings", len(pieces))
    train, held = (read_pieces(data, side, tick) for side in (fold.train, fold.test))
    return TrainingRecordings(train, held, data.components, tuple(piece.session for piece in fold.train))


def _training_side(config: TrainConfig, root: str | Path | None) -> tuple[Dataset, tuple[Piece, ...]]:
    name = config.data.protocol
    home = (config.data.folder or root) if name.startswith("folder:") else root
    if name.startswith("folder:") and home is None:
        raise ConfigError(
            f"the protocol {name} needs a folder of recordings",
            where="data.folder",
            remedy='Write folder = "…" under [data], or give --folder',
        )
    if name == ALL:
        data = load_dataset("folder", home)
        labelled = tuple(Piece(e.path, e.label, e.session) for e in data.entries if e.label is not None)
        if not labelled:
            raise ConfigError(
                "no recording of this folder has a label",
                where=str(home),
                remedy="List the recordings and their labels in manifest.csv",
            )
        return data, labelled
    made = protocol(name, home)
    if config.data.fold >= len(made.folds):
        raise ConfigError(
            f"fold {config.data.fold} of {name}, which has {len(made.folds)}",
            where="data.fold",
            remedy=f"Choose 0 to {len(made.folds) - 1}",
        )
    return made.data, made.folds[config.data.fold].train

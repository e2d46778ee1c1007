"""What a split may hold: whole recordings, or whole episodes of a long one; and folds that cannot leak."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.recording import Mixture, Recording

__all__ = ["Fold", "Piece", "Recall", "SplitError", "episodes", "folds_of_episodes", "forward_pieces", "read_pieces"]


class SplitError(UnmixError):
    """A split that would let the test leak into training, or that does not exist."""


@dataclass(frozen=True)
class Piece:
    """A recording, or rows [start, stop) of one that lie between two changes of its set points."""

    path: str
    label: Mixture | None = None
    session: str | None = None
    start: int | None = None
    stop: int | None = None

    def rows(self, recording: Recording) -> slice:
        """The rows of the recording that belong to the piece."""
        return slice(self.start, self.stop)

    def overlaps(self, other: "Piece") -> bool:
        """Whether two pieces share a row."""
        if self.path != other.path:
            return False
        if None in (self.start, self.stop, other.start, other.stop):
            return True
        return max(self.start or 0, other.start or 0) < min(self.stop or 0, other.stop or 0)


@dataclass(frozen=True)
class Fold:
    """Pieces to train on and pieces to test on; sharing a row is an error."""

    name: str
    train: tuple[Piece, ...]
    test: tuple[Piece, ...]

    def __post_init__(self) -> None:
        by_path: dict[str, list[Piece]] = defaultdict(list)
        for piece in self.train:
            by_path[piece.path].append(piece)
        for piece in self.test:
            if any(piece.overlaps(other) for other in by_path[piece.path]):
                raise SplitError(
                    "the same recording is in training and test",
                    where=f"{self.name}: {piece.path}",
                    remedy="Split by recording (or by whole episodes), not by windows",
                )


def episodes(recording: Recording) -> tuple[Piece, ...]:
    """Runs of rows during which the set points do not change."""
    if recording.exposure_ppm is None:
        raise SplitError(
            "episodes need set points, which this recording lacks",
            where=recording.path,
            remedy="Split by recording",
        )
    change = np.flatnonzero(np.any(np.diff(recording.exposure_ppm, axis=0) != 0, axis=1)) + 1
    edges = [0, *change.tolist(), len(recording)]
    return tuple(Piece(recording.path, start=start, stop=stop) for start, stop in pairwise(edges))


def folds_of_episodes(recording: Recording, count: int = 5) -> tuple[Fold, ...]:
    """Every fifth episode held out, five times."""
    runs = episodes(recording)
    count = min(count, len(runs))
    return tuple(
        Fold(
            f"{recording.path} {turn + 1}/{count}",
            tuple(run for i, run in enumerate(runs) if i % count != turn),
            tuple(run for i, run in enumerate(runs) if i % count == turn),
        )
        for turn in range(count)
    )


def forward_pieces(recording: Recording, share: float = 0.7) -> Fold:
    """The first 70 % of the rows for training, the rest for testing."""
    cut = int(share * len(recording))
    before, after = (_run(recording.path, edges) for edges in ((0, cut), (cut, len(recording))))
    return Fold(recording.path, (before,), (after,))


def _run(path: str, edges: Sequence[int]) -> Piece:
    return Piece(path, start=edges[0], stop=edges[1])


class Recall:
    """Reads the recording of a piece, and caches it."""

    def __init__(self, root: str | Path | None) -> None:
        self.root = root
        self._kept: dict[tuple[str, str], Recording] = {}

    def __call__(self, data: Dataset, piece: Piece) -> Recording:
        """The recording of a piece of a data set."""
        key = (data.name, piece.path)
        if key not in self._kept:
            self._kept[key] = data.read(Entry(piece.path, "", piece.label, piece.session))
        return self._kept[key]


def read_pieces(
    data: Dataset, pieces: Sequence[Piece], tick: Callable[[], None] = lambda: None
) -> tuple[Recording, ...]:
    """Recordings of pieces, with the labels that the protocol gives them."""
    recordings = []
    for piece in pieces:
        if piece.start is not None:
            raise ConfigError(
                "this protocol is about concentrations in parts of a recording, the model about ratios of a whole one",
                where=piece.path,
                remedy="Choose a protocol of smellnet-mixture, smellnet-base, simulated or folder",
            )
        recordings.append(data.read(Entry(piece.path, "", piece.label, piece.session)))
        tick()
    return tuple(recordings)

"""Recordings read once and kept, since many tables use the same ones."""

from pathlib import Path

from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import Recording

__all__ = ["Recall"]


class Recall:
    """Reads the recording of a piece, and remembers it."""

    def __init__(self, root: str | Path | None) -> None:
        self.root = root
        self._kept: dict[tuple[str, str], Recording] = {}

    def __call__(self, data: Dataset, piece: Piece) -> Recording:
        """The recording of a piece of a data set."""
        key = (data.name, piece.path)
        if key not in self._kept:
            self._kept[key] = data.read(Entry(piece.path, "", piece.label, piece.session))
        return self._kept[key]

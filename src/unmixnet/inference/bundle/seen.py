"""Which recordings a model has seen: their places, and the SHA-256 of their readings."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unmixnet.recordings.recording import Recording

__all__ = ["Seen", "overlap", "seen"]


@dataclass(frozen=True)
class Seen:
    """A recording by its place and by its readings; a renamed copy has another place and the same readings."""

    path: str
    sha256: str


def seen(recording: Recording) -> Seen:
    """The mark of a recording; the order of its channels does not matter."""
    digest = hashlib.sha256()
    for name in sorted(recording.channels):
        digest.update(name.encode("utf-8") + b"\0")
        digest.update(np.ascontiguousarray(recording.column(name), dtype="<f8").tobytes())
    return Seen(recording.path, digest.hexdigest())


def overlap(recordings: Iterable[Recording], known: Iterable[Seen]) -> list[str]:
    """Places of those recordings whose readings are known."""
    digests = {one.sha256 for one in known}
    return [recording.path for recording in recordings if seen(recording).sha256 in digests]

"""Reading one recording from one file: the format is recognised by what the file says, not by its name."""

from pathlib import Path

from unmixnet.data.recording import Recording
from unmixnet.data.refusal import ReadError

__all__ = ["ReadError", "read_recording"]


def read_recording(path: str | Path, *, format: str | None = None, place: str | None = None) -> Recording:
    """Read a recording, or refuse it with a `ReadError`.

    Arguments:
        path: the file.
        format: name of the format; None recognises it by content.
        place: what to store as `Recording.path` (the place in a data set); None stores `path`.
    """
    raise NotImplementedError(str(path))

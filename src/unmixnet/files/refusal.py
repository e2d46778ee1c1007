"""The one error of artefacts, and the edge where every other error becomes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unmixnet.errors import UnmixError

__all__ = ["ArtefactError", "quoted", "refused", "refusing"]

_LONGEST_QUOTE = 80
_COPY = "Copy the artefact again from where it came, or write it again"


class ArtefactError(UnmixError):
    """An artefact that cannot be written, or that is damaged, incomplete or hostile; names the file."""


def refused(problem: str, where: Path | str, remedy: str = _COPY) -> ArtefactError:
    """The error for one file; raise it."""
    return ArtefactError(problem, where=_printable(str(where)), remedy=remedy)


def quoted(seen: object) -> str:
    """What stands in a file, on one printable line that fits a terminal."""
    text = repr(seen)
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"


@contextmanager
def refusing(where: Path | str, remedy: str = _COPY) -> Iterator[None]:
    """Turn what the system, the decoders and the allocator raise into an `ArtefactError` for one file."""
    try:
        yield
    except (OSError, ValueError, MemoryError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise refused(_printable(reason) or type(error).__name__, where, remedy) from None


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)

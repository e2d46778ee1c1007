"""What could not be answered in an archive, and why: one row of its errors table."""

from dataclasses import dataclass
from typing import Literal

from unmixnet.errors import UnmixError
from unmixnet.recordings.refusal import ReadError

__all__ = ["Trouble", "trouble_of"]


@dataclass(frozen=True)
class Trouble:
    """A row of the errors table.

    Arguments:
        file: place in the archive.
        line: line of a text file, row of a table, counted from 1; None if it concerns none.
        kind: `refused`: something was not answered; `jump`: time jumps there, and no window spans it.
        reason: what was seen, what was expected, what to try.
    """

    file: str
    line: int | None
    kind: Literal["refused", "jump"]
    reason: str


def trouble_of(place: str, error: UnmixError, line: int | None = None) -> Trouble:
    """An error as a row; its own line if it has one, and without the machine's path."""
    if isinstance(error, ReadError):
        line = error.line if error.line is not None else line
    said = UnmixError(error.problem, remedy=error.remedy)
    return Trouble(place, line, "refused", str(said))

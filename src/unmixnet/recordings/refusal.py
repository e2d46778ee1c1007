"""The error of a file that cannot be read: where, what was seen, what was expected, one thing to try."""

from unmixnet.errors import UnmixError
from unmixnet.recordings.codes import Code

__all__ = ["ReadError"]

_LONGEST_QUOTE = 60


class ReadError(UnmixError):
    """A refused file.

    Arguments:
        code: documented reason.
        file: the file, as the caller named it.
        line: line counted from 1, or None.
        column: field counted from 1, or None.
        seen: what stands there.
        expected: what should stand there.
        remedy: one thing to try, in the imperative.
    """

    def __init__(
        self,
        code: Code,
        *,
        file: str,
        seen: str,
        expected: str,
        remedy: str,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.code, self.file, self.line, self.column = code, file, line, column
        self.seen, self.expected = _shortened(seen), expected
        place = [file]
        place += [f"line {line}"] if line is not None else []
        place += [f"column {column}"] if column is not None else []
        super().__init__(
            f"{self.seen}; expected {expected} [{code}]", where=", ".join(place), remedy=remedy.rstrip(".")
        )


def _shortened(seen: str) -> str:
    """One printable line, short enough for a terminal."""
    printable = "".join(char if char.isprintable() else "?" for char in seen)
    return printable if len(printable) <= 2 * _LONGEST_QUOTE else printable[: 2 * _LONGEST_QUOTE - 1] + "…"

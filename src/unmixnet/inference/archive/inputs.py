"""What an archive holds: files in a fixed order, each with the hash of its bytes, packed into tasks."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.recordings.codes import ReadError
from unmixnet.recordings.manifest import MANIFEST
from unmixnet.recordings.reader import RECORDING_SUFFIXES

__all__ = ["ErrorRow", "Input", "Unit", "error_row", "inputs_of", "units_of"]

_UNIT_BYTES, _UNIT_FILES = 4 << 20, 64
"""A task ends with the file that reaches either limit: small enough to repeat, large enough to fill batches."""


@dataclass(frozen=True)
class Input:
    """A file of an archive.

    Arguments:
        place: from the archive's folder on, with "/" between folders.
        path: where to open it.
        sha256: of its bytes; "" if they cannot be read.
        size: in bytes.
    """

    place: str
    path: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Unit:
    """Files that are answered together and make one part of the output."""

    inputs: tuple[Input, ...]

    @property
    def name(self) -> str:
        """The part's name, from places and contents alone: the same files make the same part on any machine."""
        listing = "\n".join(f"{file.sha256} {file.place}" for file in self.inputs)
        return f"part-{hashlib.sha256(listing.encode()).hexdigest()[:24]}.parquet"

    def __str__(self) -> str:
        places = [file.place for file in self.inputs]
        return ", ".join(places[:2]) + (f" and {len(places) - 2} more" if len(places) > 2 else "")


def inputs_of(archive: Path, *, without: Path | None = None) -> Iterator[Input]:
    """Every recording under a folder, or the one file, sorted by place.

    Arguments:
        without: a folder to skip, since the output may lie inside the archive.
    """
    if archive.is_file():
        yield _input(archive, archive.name)
        return
    if not archive.is_dir():
        raise ConfigError(
            "there is no such folder", where=str(archive), remedy="Name a folder of recordings or of Parquet files"
        )
    skipped = None if without is None else without.resolve()
    for path in _walk(archive, skipped):
        yield _input(path, path.relative_to(archive).as_posix())


def _walk(folder: Path, without: Path | None) -> Iterator[Path]:
    """Files that may be recordings; a folder that may not be opened is reported like a file that cannot be read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield folder
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir(follow_symlinks=False):
            if path.resolve() != without:
                yield from _walk(path, without)
        elif path.suffix.lower() in RECORDING_SUFFIXES and entry.name != MANIFEST:
            yield path


def _input(path: Path, place: str) -> Input:
    place = place.encode("utf-8", "backslashreplace").decode()
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Input(place, str(path), digest, file.tell())
    except OSError:
        return Input(place, str(path), "", 0)


def units_of(inputs: Iterable[Input]) -> Iterator[Unit]:
    """Pack files into tasks, in their order; one that cannot be read is a task of its own, to be tried again."""
    kept: list[Input] = []
    for file in inputs:
        if not file.sha256:
            yield Unit((file,))
            continue
        kept.append(file)
        if len(kept) >= _UNIT_FILES or sum(item.size for item in kept) >= _UNIT_BYTES:
            yield Unit(tuple(kept))
            kept = []
    if kept:
        yield Unit(tuple(kept))


@dataclass(frozen=True)
class ErrorRow:
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


def error_row(place: str, error: UnmixError, line: int | None = None) -> ErrorRow:
    """An error as a row; its own line if it has one, and without the machine's path."""
    if isinstance(error, ReadError):
        line = error.line if error.line is not None else line
    message = UnmixError(error.problem, remedy=error.remedy)
    return ErrorRow(place, line, "refused", str(message))

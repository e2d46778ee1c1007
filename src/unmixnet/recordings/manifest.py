"""The manifest of a folder: a CSV that names each recording's file, label, session and split."""

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from unmixnet.recordings.formats.text import decode, read_text_bytes
from unmixnet.recordings.labels import parse_label
from unmixnet.recordings.location import DataError
from unmixnet.recordings.recording import Mixture

__all__ = ["COLUMNS", "MANIFEST", "Listed", "read_manifest"]

MANIFEST = "manifest.csv"
COLUMNS = ("file", "label", "session", "split")


@dataclass(frozen=True)
class Listed:
    """A row of a manifest, and its line; label, session and split may be absent."""

    file: str
    line: int
    label: Mixture | None = None
    session: str | None = None
    split: str | None = None


def read_manifest(path: Path) -> tuple[Listed, ...]:
    """Rows of a manifest; a file that is listed and absent, or listed twice, is an error."""
    lines = decode(read_text_bytes(path), str(path)).lines
    try:
        rows = list(csv.reader(lines, delimiter=";" if ";" in lines[0] else ","))
    except csv.Error as error:
        raise _refused(path, 1, f"no table ({error})", "Write one row for each recording") from None
    names = [name.strip().lower() for name in rows[0]]
    for name in names:
        if name not in COLUMNS:
            near = difflib.get_close_matches(name, COLUMNS, 1, cutoff=0.4)
            remedy = f"Write {near[0]} if that was meant" if near else f"Keep to {', '.join(COLUMNS)}"
            raise _refused(path, 1, f"the column {name!r}, expected one of {', '.join(COLUMNS)}", remedy)
    if "file" not in names:
        raise _refused(path, 1, "no column named file", "Name the column of file names file")
    listed: dict[str, Listed] = {}
    for number, row in enumerate(rows[1:], start=2):
        if any(field.strip() for field in row):
            entry = _listed(path, number, names, row)
            if entry.file in listed:
                raise _refused(path, number, f"{entry.file} is listed twice", "Delete one of the two rows")
            listed[entry.file] = entry
    if not listed:
        raise _refused(path, 1, "a header and no row", "List one recording in each row")
    return tuple(listed.values())


def _listed(path: Path, number: int, names: list[str], row: list[str]) -> Listed:
    if len(row) != len(names):
        raise _refused(path, number, f"{len(row)} fields, expected {len(names)}", "Complete the row")
    fields = {name: value.strip() for name, value in zip(names, row, strict=True)}
    file = PurePosixPath(fields["file"].replace("\\", "/"))
    if file.is_absolute() or ".." in file.parts:
        raise _refused(path, number, f"{file} is not inside the folder", "Write the path from the manifest on")
    if not (path.parent / file).is_file():
        raise _refused(path, number, f"there is no file {file}", "Correct the name, or delete the row")
    written = fields.get("label", "")
    label = parse_label(written) if written else None
    if written and label is None:
        remedy = "Write almond, almond_50_clove_50, or almond:50 + clove:50"
        raise _refused(path, number, f"the label {written!r} is not a recipe", remedy)
    return Listed(str(file), number, label, fields.get("session") or None, fields.get("split") or None)


def _refused(path: Path, line: int, problem: str, remedy: str) -> DataError:
    return DataError(problem, where=f"{path}, line {line}", remedy=remedy)

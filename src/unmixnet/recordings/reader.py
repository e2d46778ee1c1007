"""Reading one recording from one file: the format is recognised by the content of the file, not by its name.

A new format is one `Format` in a module of `formats/`, added to `FORMATS`: every command then reads it.
"""

import os
from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.recordings.codes import ReadError
from unmixnet.recordings.formats.format import FileContent, Format
from unmixnet.recordings.formats.osmell import OSMELL
from unmixnet.recordings.formats.plain_csv import PLAIN_CSV
from unmixnet.recordings.formats.plotter import PLOTTER
from unmixnet.recordings.formats.smellnet import SMELLNET_BASE, SMELLNET_MIXTURE
from unmixnet.recordings.formats.table import missing_header
from unmixnet.recordings.formats.uci_plateaus import UCI_PLATEAUS
from unmixnet.recordings.formats.uci_recording import UCI_PARQUET, UCI_TEXT
from unmixnet.recordings.recording import Recording

__all__ = ["FORMATS", "RECORDING_SUFFIXES", "Format", "ReadError", "read_recording", "recording_files"]

FORMATS: tuple[Format, ...] = (
    UCI_PARQUET,
    UCI_TEXT,
    OSMELL,
    PLOTTER,
    SMELLNET_BASE,
    SMELLNET_MIXTURE,
    UCI_PLATEAUS,
    PLAIN_CSV,
)
"""Formats that `read_recording` knows, in the order in which they are tried: binary ones and special ones first."""

RECORDING_SUFFIXES = tuple(sorted({suffix for known in FORMATS for suffix in known.suffixes}))
"""Endings of files that may be recordings, for searching folders."""


def read_recording(path: str | Path, *, format: str | None = None, place: str | None = None) -> Recording:
    """Read a recording, or refuse it with a `ReadError`.

    Arguments:
        path: the file.
        format: name of one of `FORMATS`; None recognises it by content.
        place: what to store as `Recording.path` (the place in a data set); None stores `path`.

    >>> import unmixnet as um
    >>> recording = um.read_recording(um.example_recording())
    >>> recording.channels, len(recording)
    (('MOX1', 'MOX2', 'MOX3', 'MOX4'), 600)
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"a {type(path).__name__} was given, expected a path", remedy="Give the path of a file")
    path = Path(path)
    content = FileContent(path, place if place is not None else path.as_posix())
    return _format(content, format).read(content)


def recording_files(folder: Path) -> list[Path]:
    """Every file below a folder that may be a recording, in order of path."""
    named = (path for path in folder.rglob("*") if path.suffix.lower() in RECORDING_SUFFIXES)
    return sorted(path for path in named if os.path.isfile(path))


def _format(content: FileContent, name: str | None) -> Format:
    if name is None:
        known = next((known for known in FORMATS if known.recognises(content)), None)
        if known is None:
            raise missing_header(content.text)
        return known
    for known in FORMATS:
        if known.name == name:
            _ = content.head  # refuses what is not a plain file
            return known
    names = ", ".join(known.name for known in FORMATS)
    raise ConfigError(f"no format {name!r}", remedy=f"Choose one of {names}")

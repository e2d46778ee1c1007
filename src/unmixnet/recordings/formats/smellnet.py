"""SmellNet CSV: base recordings (12 columns, nominal 1 Hz, no time) and mixtures (time in ms, 10 Hz)."""

from collections.abc import Collection, Mapping
from functools import partial

import numpy as np

from unmixnet.recordings.channels import BASE_CHANNELS, MIXTURE_CHANNELS, canonical_name, name_columns
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.format import FileContent, Format
from unmixnet.recordings.formats.table import Header, missing_header, parse_table
from unmixnet.recordings.formats.text import SourceText
from unmixnet.recordings.formats.timebase import from_column, from_rate
from unmixnet.recordings.health import judge
from unmixnet.recordings.labels import COMPONENTS, SUBSTANCES, label_of_file
from unmixnet.recordings.recording import Recording

__all__ = ["BASE_RATE_HZ", "FULL_SCALE", "SMELLNET_BASE", "SMELLNET_MIXTURE", "TIME_COLUMN"]

TIME_COLUMN = "timestamp_ms"
BASE_RATE_HZ = 1.0
FULL_SCALE = dict.fromkeys(MIXTURE_CHANNELS, 1023.0)
"""The four Grove channels are read by a 10-bit converter."""


def _recognises(columns: Collection[str], content: FileContent) -> bool:
    """True if the header names these columns, in any order and spelling, and no other."""
    return content.header is not None and set(map(canonical_name, content.header.names)) == set(columns)


def _read(device: str, known: Mapping[str, str], substances: tuple[str, ...], content: FileContent) -> Recording:
    """A recording whose label is the recipe in its file name."""
    source, header, place = content.text, content.header, content.place
    if header is None:
        raise missing_header(source)
    columns, spelling = name_columns(header.names, file=source.file, line=header.line)
    table = parse_table(source, header)
    names = [column.name for column in columns]
    _refuse_other_columns(source, header, names, known)
    if TIME_COLUMN in names:
        at = names.index(TIME_COLUMN)
        lines = table.line_of_row
        times = from_column(table.values[:, at], "ms", file=source.file, column=at + 1, lines=lines)
    else:
        times = from_rate(len(table.values), BASE_RATE_HZ)
    kept = [i for i, name in enumerate(names) if name in known]
    channels = tuple(names[i] for i in kept)
    units = tuple(known[name] for name in channels)
    checkup = judge(np.ascontiguousarray(table.values[:, kept]), channels, units, full_scale=FULL_SCALE)
    label, about_label = label_of_file(place, substances)
    findings = source.findings + spelling + table.findings + times.findings + checkup.findings + about_label
    return Recording(
        time_s=times.time_s,
        readings=checkup.readings,
        channels=channels,
        units=units,
        sample_rate_Hz=times.sample_rate_Hz,
        device=device,
        path=place,
        label=label,
        health=checkup.health,
        warnings=findings,
    )


def _refuse_other_columns(source: SourceText, header: Header, names: list[str], known: Mapping[str, str]) -> None:
    """Refuse a file that was called SmellNet and has other columns: none may be dropped in silence."""
    odd = [name for name in names if name not in known and name != TIME_COLUMN]
    absent = [name for name in known if name not in names]
    if odd or absent:
        raise ReadError(
            Code.UNKNOWN_FORMAT,
            file=source.file,
            line=header.line,
            seen=f"columns {', '.join(names)}",
            expected=", ".join(known),
            remedy="Leave the format to be recognised",
        )


SMELLNET_BASE = Format(
    "smellnet-base",
    (".csv",),
    partial(_recognises, frozenset(BASE_CHANNELS)),
    partial(_read, "SmellNet base (Grove, MQ, BME680)", BASE_CHANNELS, SUBSTANCES),
)
"""One of the 50 substances; rows are one second apart by the authors' statement."""

SMELLNET_MIXTURE = Format(
    "smellnet-mixture",
    (".csv",),
    partial(_recognises, frozenset([TIME_COLUMN, *MIXTURE_CHANNELS])),
    partial(_read, "SmellNet mixture (Grove)", MIXTURE_CHANNELS, COMPONENTS),
)
"""A mixture of the 12 components."""

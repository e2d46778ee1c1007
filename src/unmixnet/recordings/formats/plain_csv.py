"""Plain CSV of any array: names and units from the header, the rest from a sidecar file."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.recordings.channels import UNKNOWN_UNIT, Column, canonical_name, name_columns
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.format import FileContent, Format
from unmixnet.recordings.formats.sidecar import Sidecar
from unmixnet.recordings.formats.table import Header, Table, missing_header, parse_table
from unmixnet.recordings.formats.text import SourceText
from unmixnet.recordings.formats.timebase import TICKS_PER_S, Timebase, from_column, from_rate
from unmixnet.recordings.health import SENTINELS, judge
from unmixnet.recordings.labels import sum_findings
from unmixnet.recordings.recording import Finding, Recording

__all__ = ["PLAIN_CSV", "assemble", "read_plain"]

_TIME_NAMES = {
    "time_s": "s",
    "t_s": "s",
    "seconds": "s",
    "timestamp_s": "s",
    "time_ms": "ms",
    "t_ms": "ms",
    "ms": "ms",
    "millis": "ms",
    "milliseconds": "ms",
    "timestamp_ms": "ms",
    "time_us": "us",
    "micros": "us",
    "timestamp_us": "us",
    "time": None,
    "t": None,
    "timestamp": None,
}
"""Names of time columns, and the unit they state; None where they state none."""


@dataclass(frozen=True)
class _TimeColumn:
    """Which column is the time, and in which unit."""

    index: int
    unit: str
    findings: tuple[Finding, ...] = ()


def read_plain(source: SourceText, header: Header, place: str, sidecar: Sidecar) -> Recording:
    """A recording from a plain CSV and what its sidecar states."""
    columns, spelling = name_columns(header.names, file=source.file, line=header.line)
    clock = _time_column(source, columns, sidecar)
    table = parse_table(source, header, clock.index if clock else None)
    return assemble(source, columns, table, place, sidecar, source.findings + spelling)


def assemble(
    source: SourceText,
    columns: tuple[Column, ...],
    table: Table,
    place: str,
    sidecar: Sidecar,
    findings: tuple[Finding, ...],
) -> Recording:
    """Put a table, its columns and a sidecar together to a recording."""
    stated = _stated_units(source, columns, sidecar)
    clock = _time_column(source, columns, sidecar)
    times = _times(source, table, clock, sidecar)
    kept = [i for i in range(len(columns)) if clock is None or i != clock.index]
    if not kept:
        raise _no_channels(source)
    channels = tuple(columns[i].name for i in kept)
    units = tuple(stated.get(columns[i].name, columns[i].unit) for i in kept)
    full_scale = {canonical_name(name): top for name, top in sidecar.full_scale.items()}
    checkup = judge(
        np.ascontiguousarray(table.values[:, kept]),
        channels,
        units,
        full_scale=full_scale,
        sentinels=(*SENTINELS, *sidecar.sentinels),
    )
    return Recording(
        time_s=times.time_s,
        readings=checkup.readings,
        channels=channels,
        units=units,
        sample_rate_Hz=times.sample_rate_Hz,
        device=sidecar.device,
        path=place,
        label=sidecar.label,
        health=checkup.health,
        warnings=findings
        + table.findings
        + times.findings
        + checkup.findings
        + sum_findings(sidecar.label, "the stated label"),
    )


def _stated_units(source: SourceText, columns: tuple[Column, ...], sidecar: Sidecar) -> dict[str, str]:
    """Units from the sidecar; a channel it names and the file lacks is an error."""
    names = [column.name for column in columns]
    for written in (*sidecar.units, *sidecar.full_scale):
        if canonical_name(written) not in names:
            raise _no_such_column(source, written, names)
    return {canonical_name(name): unit for name, unit in sidecar.units.items()}


def _time_column(source: SourceText, columns: tuple[Column, ...], sidecar: Sidecar) -> _TimeColumn | None:
    """The time column: that of the sidecar, else the first with a usual name, else the first in a unit of time."""
    names = [column.name for column in columns]
    if sidecar.time_column is not None:
        if sidecar.time_column not in names:
            raise _no_such_column(source, sidecar.time_column, names)
        index = names.index(sidecar.time_column)
    else:
        named = [i for i, name in enumerate(names) if name.lower() in _TIME_NAMES]
        plain = [i for i in named if names[i].lower() != "t"]  # a T beside a column in seconds is a temperature
        timed = [i for i, column in enumerate(columns) if column.unit in TICKS_PER_S]
        index = next(iter((*plain, *timed, *named)), -1)
    if index < 0:
        return None
    bracket = columns[index].unit if columns[index].unit != UNKNOWN_UNIT else None
    unit = sidecar.time_unit or bracket or _TIME_NAMES.get(names[index].lower())
    if unit in TICKS_PER_S:
        return _TimeColumn(index, unit)
    message = f"column {index + 1} ({names[index]}) has no unit of time: seconds were assumed"
    finding = Finding(Code.TIME_UNIT_ASSUMED, message, column=index + 1, channel=names[index])
    return _TimeColumn(index, "s", (finding,))


def _times(source: SourceText, table: Table, clock: _TimeColumn | None, sidecar: Sidecar) -> Timebase:
    if clock is None:
        return from_rate(len(table.values), sidecar.rate_Hz)
    ticks = table.values[:, clock.index]
    where = {"file": source.file, "column": clock.index + 1, "lines": table.line_of_row}
    if table.dated:
        return from_column(ticks - ticks[0], "s", **where)
    times = from_column(ticks, clock.unit, **where)
    return replace(times, findings=clock.findings + times.findings)


def _no_such_column(source: SourceText, written: str, names: Iterable[str]) -> ReadError:
    near = difflib.get_close_matches(written, list(names), 1, cutoff=0.4)
    return ReadError(
        Code.BAD_SIDECAR,
        file=source.file,
        seen=f"the sidecar names {written!r}",
        expected=f"one of the columns {', '.join(names)}",
        remedy=f"Write {near[0]} if that was meant" if near else "Correct the name in the sidecar",
    )


def _no_channels(source: SourceText) -> ReadError:
    return ReadError(
        Code.UNKNOWN_FORMAT,
        file=source.file,
        seen="a time column and no other",
        expected="at least one sensor channel",
        remedy="Write one column for each sensor",
    )


def _read(content: FileContent) -> Recording:
    if content.header is None:
        raise missing_header(content.text)
    return read_plain(content.text, content.header, content.place, content.sidecar)


PLAIN_CSV = Format("plain-csv", (".csv", ".txt", ".tsv", ".log"), lambda content: content.header is not None, _read)

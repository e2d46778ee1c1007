"""Lines of the Arduino serial plotter: `NO2:27,CO:31`, with whatever the board prints around them."""

import re
from collections import Counter

import numpy as np

from unmixnet.recordings.channels import name_columns
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.fields import FieldLog, read_field
from unmixnet.recordings.formats.format import FileContent, Format
from unmixnet.recordings.formats.plain_csv import assemble
from unmixnet.recordings.formats.sidecar import Sidecar
from unmixnet.recordings.formats.table import Table, unknown_format
from unmixnet.recordings.formats.text import SourceText
from unmixnet.recordings.recording import Finding, Recording

__all__ = ["PLOTTER"]

Pairs = list[tuple[str, str]]

_STAMP = re.compile(r"(\d\d):(\d\d):(\d\d(?:\.\d{1,6})?) -> ")
_MARKS = str.maketrans(",\t;", "   ")
_VALUE = re.compile(r"[+-]?[.0-9][0-9.eE+-]*|[+-]?(?:nan|inf|ovf)", re.IGNORECASE)
_LOOKED_AT = 200


def _recognises(content: FileContent) -> bool:
    """True if most of the first lines are plotter lines, or some where no header of several columns is."""
    share, header = _plotter_share(content.text), content.header
    return share > 0.5 or (share > 0 and (header is None or len(header.names) == 1))


def _plotter_share(source: SourceText) -> float:
    """Share of the first lines that are plotter lines."""
    lines = [line for line in source.lines[:_LOOKED_AT] if line.strip()]
    return sum(_is_reading(_pairs(line)) for line in lines) / max(len(lines), 1)


def _read(content: FileContent) -> Recording:
    if _plotter_share(content.text) == 0:
        raise unknown_format(content.text)
    return _read_lines(content.text, content.place, content.sidecar)


PLOTTER = Format("plotter", (".txt", ".log", ".csv"), _recognises, _read)


def _read_lines(source: SourceText, place: str, sidecar: Sidecar) -> Recording:
    """A recording from plotter lines; every line must name the same channels."""
    split = [(i + 1, line, _pairs(line)) for i, line in enumerate(source.lines) if line.strip()]
    written = _usual_names(split)
    columns, spelling = name_columns(written, file=source.file, line=1)
    readings = [(number, pairs) for number, _, pairs in split if _belongs(pairs, written)]
    text = [(number, line) for number, line, pairs in split if not _belongs(pairs, written)]
    log = FieldLog(source.file, written)
    values = np.array([_row(source, number, pairs, written, log) for number, pairs in readings])
    lines = np.array([number for number, _ in readings])
    table = Table(written, values, lines, log.findings())
    return assemble(source, columns, table, place, sidecar, source.findings + spelling + _boot(text))


def _pairs(line: str) -> Pairs:
    """Name and value of each `name:value`; the value is empty where there is no colon.

    The time that the serial monitor writes in front (`12:00:00.123 -> `) becomes a pair of its own.
    """
    stamp = _STAMP.match(line)
    if stamp:
        seconds = 3600 * int(stamp[1]) + 60 * int(stamp[2]) + float(stamp[3])
        return [("time_s", f"{seconds:.6f}"), *_pairs(line[stamp.end() :])]
    words = " ".join(line.translate(_MARKS).split()).replace(" :", ":").replace(": ", ":").split()
    return [(name, value) for name, _, value in (word.partition(":") for word in words)]


def _is_reading(pairs: Pairs) -> bool:
    return bool(pairs) and all(name and _VALUE.fullmatch(value) for name, value in pairs)


def _usual_names(split: list[tuple[int, str, Pairs]]) -> tuple[str, ...]:
    """The names that most lines carry, in their order."""
    counts = Counter(tuple(name for name, _ in pairs) for _, _, pairs in split if _is_reading(pairs))
    return counts.most_common(1)[0][0]


def _belongs(pairs: Pairs, written: tuple[str, ...]) -> bool:
    """True if a line names the channels, however damaged it is."""
    return any(name in written for name, _ in pairs)


def _row(source: SourceText, line: int, pairs: Pairs, written: tuple[str, ...], log: FieldLog) -> list[float]:
    names = tuple(name for name, _ in pairs)
    if names != written:
        raise ReadError(
            Code.RAGGED_ROW,
            file=source.file,
            line=line,
            seen=f"the channels {', '.join(names)[:80]}",
            expected=", ".join(written),
            remedy="Delete the line if it is damaged",
        )
    return [read_field(value, log, line, column) for column, (_, value) in enumerate(pairs)]


def _boot(text: list[tuple[int, str]]) -> tuple[Finding, ...]:
    if not text:
        return ()
    line, first = text[0]
    lines = "1 line" if len(text) == 1 else f"{len(text)} lines"
    message = f"{lines} without readings set aside, the first is {first.strip()[:40]!r}"
    return (Finding(Code.BOOT_TEXT, message, line, count=len(text)),)

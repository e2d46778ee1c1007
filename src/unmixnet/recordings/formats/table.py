"""Delimited text with a header: finding it, splitting it, turning fields into numbers or findings."""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.fields import FieldLog, is_absurd, read_field, read_time, split_fields
from unmixnet.recordings.formats.text import SourceText
from unmixnet.recordings.recording import Finding

__all__ = ["Header", "Table", "find_header", "missing_header", "parse_table", "unknown_format"]

_SEPARATORS = (";", "\t", ",")
_SEARCHED_LINES = 200
_PLAIN = re.compile(r"[0-9+\-.eE,;\t \n]*")
_SPEECH = re.compile(r"[A-Za-z]{2}.*[A-Za-z: ]{3}")
_NUMBER_START = re.compile(r"\s*[\"']?[+-]?[.,]?\d")


@dataclass(frozen=True)
class Header:
    """The line that names the columns: `index` counts from 0 in the lines of the file."""

    index: int
    separator: str
    names: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def line(self) -> int:
        """Line of the header, counted from 1."""
        return self.index + 1


@dataclass(frozen=True)
class Table:
    """Numbers of a delimited text: `values` (rows, columns), `line_of_row` counted from 1.

    `dated`: the time column held dates, which are now seconds since 1970.
    """

    names: tuple[str, ...]
    values: np.ndarray
    line_of_row: np.ndarray
    findings: tuple[Finding, ...]
    dated: bool = False


def find_header(source: SourceText) -> Header | None:
    """The first line of names that is followed by numbers, or that nothing but text follows."""
    candidates = [(index, line) for index, line in enumerate(source.lines[:_SEARCHED_LINES]) if line.strip()]
    for (index, line), (_, following) in pairwise(candidates):
        header = _as_header(index, line)
        if header and _follows(header, following):
            return header
    if len(candidates) == 1:
        return _as_header(*candidates[0])
    return None


def parse_table(source: SourceText, header: Header, clock: int | None = None) -> Table:
    """All rows under the header; refuses rows that do not fit it.

    Arguments:
        source, header: the text and where its header is.
        clock: a column in which dates such as 2024-05-01T12:00:00 may stand; read as seconds.
    """
    names = header.names
    numbered = [(i + 1, line) for i, line in enumerate(source.lines) if i > header.index and line.strip()]
    if not numbered:
        raise _no_rows(source, header)
    findings = header.findings + _skipped(source, header, numbered[-1][0], len(numbered))
    lines = [line for _, line in numbered]
    line_of_row = np.array([number for number, _ in numbered])
    rows, more = _without_trailing_separator(lines, header.separator, len(names))
    findings += more
    comma = header.separator == ";" and any("," in row for row in rows)
    if comma:
        findings += (Finding(Code.DECIMAL_COMMA, "commas were read as decimal signs", header.line),)
    values = _fast(rows, header.separator, len(names), comma)
    if values is None:
        values, log = _slow(source, header, rows, line_of_row, clock, comma)
        return Table(names, values, line_of_row, findings + log.findings(), log.dated)
    return Table(names, values, line_of_row, findings)


def missing_header(source: SourceText) -> ReadError:
    """The refusal of a file without a header: rows of bare numbers, or something else altogether."""
    first = next((i for i, line in enumerate(source.lines) if line.strip()), 0)
    line = source.lines[first]
    if line.strip()[:1].isdigit() or line.strip()[:2].lstrip("+-.")[:1].isdigit():
        return ReadError(
            Code.NO_HEADER,
            file=source.file,
            line=first + 1,
            seen=repr(line[:60]),
            expected="a line that names the columns",
            remedy="Write the channel names, separated by commas, as the first line",
        )
    return unknown_format(source)


def unknown_format(source: SourceText) -> ReadError:
    """The refusal of text in an unknown format."""
    first = next((i for i, line in enumerate(source.lines) if line.strip()), 0)
    return ReadError(
        Code.UNKNOWN_FORMAT,
        file=source.file,
        line=first + 1,
        seen=repr(source.lines[first][:60]),
        expected="a CSV header followed by rows, UCI columns, or plotter lines such as NO2:27,CO:31",
        remedy="Export the recording as CSV with one named column for each sensor",
    )


def _follows(header: Header, line: str) -> bool:
    """True if a line looks like a row under the header: it begins with a number, or is half numbers."""
    if _NUMBER_START.match(line):
        return True
    fields = split_fields(line, header.separator)
    numbers = sum(bool(_NUMBER_START.match(field)) for field in fields)
    return len(fields) == len(header.names) and 2 * numbers >= len(fields)


def _as_header(index: int, line: str) -> Header | None:
    """The line as a header: fields that do not begin like numbers, at least one of them a word."""
    separator = next((mark for mark in _SEPARATORS if mark in line), ",")
    names = tuple(field.strip().strip("\"'").strip() for field in split_fields(line, separator))
    if any(_NUMBER_START.match(name) for name in names) or not any(names):
        return None
    if len(names) > 1 and not names[-1]:
        finding = Finding(Code.TRAILING_SEPARATOR, f"the header ends in {separator!r}", index + 1)
        return Header(index, separator, names[:-1], (finding,))
    return Header(index, separator, names)


def _skipped(source: SourceText, header: Header, last: int, rows: int) -> tuple[Finding, ...]:
    """Findings about text before the header and blank lines between the rows."""
    findings: tuple[Finding, ...] = ()
    before = [line for line in source.lines[: header.index] if line.strip()]
    if before:
        lines = "1 line" if len(before) == 1 else f"{len(before)} lines"
        message = f"{lines} before the header set aside, the first is {before[0][:40]!r}"
        findings += (Finding(Code.BOOT_TEXT, message, 1, count=len(before)),)
    blank = last - header.index - 1 - rows
    if blank:
        findings += (Finding(Code.BLANK_LINE, f"{blank} blank lines between the rows", count=blank),)
    return findings


def _without_trailing_separator(lines: list[str], separator: str, width: int) -> tuple[list[str], tuple[Finding, ...]]:
    """Rows without the separator that ends every one of them."""
    ends = [line.rstrip(" ").endswith(separator) and line.count(separator) == width for line in lines]
    if not all(ends):
        return lines, ()
    finding = Finding(Code.TRAILING_SEPARATOR, f"all {len(lines)} rows end in {separator!r}", count=len(lines))
    return [line.rstrip(" ")[:-1] for line in lines], (finding,)


def _fast(rows: list[str], separator: str, width: int, comma: bool) -> np.ndarray | None:
    """All rows at once if every one is plain numbers; None if any needs a closer look."""
    body = "\n".join(rows)
    if not _PLAIN.fullmatch(body) or any(row.count(separator) != width - 1 for row in rows):
        return None
    if comma:
        if "." in body:
            return None
        body = body.replace(",", ".")
    try:
        flat = list(map(float, body.replace("\n", separator).split(separator)))
    except ValueError:
        return None
    values = np.array(flat).reshape(len(rows), width)
    return None if is_absurd(values).any() else values


def _slow(
    source: SourceText,
    header: Header,
    rows: list[str],
    line_of_row: np.ndarray,
    clock: int | None,
    comma: bool,
) -> tuple[np.ndarray, FieldLog]:
    """Field by field, so that a refusal names its line and column."""
    names = header.names
    fields = [split_fields(row, header.separator) for row in rows]
    _refuse_restart(source, header, rows, fields, line_of_row)
    _refuse_widths(source, fields, line_of_row, len(names))
    log = FieldLog(source.file, names, comma)
    values = np.empty((len(rows), len(names)))
    for r, row in enumerate(fields):
        for c, text in enumerate(row):
            read = read_time if c == clock else read_field
            values[r, c] = read(text, log, int(line_of_row[r]), c)
    return values, log


def _refuse_restart(
    source: SourceText, header: Header, rows: list[str], fields: list[list[str]], line_of_row: np.ndarray
) -> None:
    """Refuse a second header or boot text between the rows."""
    names = {name.lower() for name in header.names if name}
    for row, text, line in zip(fields, rows, line_of_row, strict=True):
        again = sum(field.strip().strip("\"'").lower() in names for field in row)
        speaks = not _NUMBER_START.match(text) and _SPEECH.search(text[:200])
        if again * 2 > len(names) or (speaks and len(row) != len(header.names)):
            raise ReadError(
                Code.RESTART,
                file=source.file,
                line=int(line),
                seen=repr(text[:60]) + (" (the header again)" if again else " (text)"),
                expected="a row of readings",
                remedy=f"Split the file before line {line}: the device restarted, these are two recordings",
            )


def _refuse_widths(source: SourceText, fields: list[list[str]], line_of_row: np.ndarray, width: int) -> None:
    """Refuse rows whose number of fields is not that of the header."""
    widths = np.array([len(row) for row in fields])
    wrong = np.flatnonzero(widths != width)
    if not len(wrong):
        return
    first = int(wrong[0])
    every = len(widths) > 1 and widths.min() == widths.max() > width
    raise ReadError(
        Code.EXTRA_FIELD if every else Code.RAGGED_ROW,
        file=source.file,
        line=int(line_of_row[first]),
        column=min(int(widths[first]), width) + 1,
        seen=f"{widths[first]} fields" + (" in every row" if every else ""),
        expected=f"{width} fields as in the header",
        remedy="Name every column in the header, and write decimal points, not commas"
        if every
        else "Delete the line if it is damaged, or fill its missing fields with nan",
    )


def _no_rows(source: SourceText, header: Header) -> ReadError:
    return ReadError(
        Code.NO_ROWS,
        file=source.file,
        line=header.line,
        seen="a header and no complete row after it",
        expected="at least one row of readings",
        remedy="Check that the device was recording, and copy the file again",
    )

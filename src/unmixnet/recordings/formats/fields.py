"""One field of a delimited text: a number, the absence of one, or a refusal that names its place."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.recording import Finding

__all__ = ["ABSENT", "LARGEST", "FieldLog", "is_absurd", "read_field", "read_time", "split_fields"]

LARGEST, SMALLEST = 1e16, 1e-30
"""Bounds beyond which a number cannot come from a sensor or a clock."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:[, '\u00a0\u202f][0-9]{3})+(?:\.[0-9]*)?")
ABSENT = frozenset(
    ["", "nan", "inf", "+inf", "-inf", "infinity", "-infinity", "ovf", "-ovf", "na", "n/a", "null", "none"]
)
"""What firmware and spreadsheets write where there is no reading; compared in lower case."""


@dataclass
class FieldLog:
    """Where fields held no reading, gathered while a table is read."""

    file: str
    names: tuple[str, ...]
    decimal_comma: bool = False
    dated: bool = False
    seen: dict[tuple[Code, int], list[tuple[int, str]]] = field(default_factory=dict)

    def note(self, code: Code, line: int, column: int, text: str) -> float:
        """Note a field without a reading; its value is NaN."""
        self.seen.setdefault((code, column), []).append((line, text))
        return float("nan")

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each kind of absence and column."""
        return tuple(
            Finding(
                code,
                f"column {column + 1} ({self.names[column]}): {len(places)} fields hold no reading, "
                f"the first is {places[0][1]!r} in line {places[0][0]}; kept as NaN",
                places[0][0],
                column + 1,
                self.names[column],
                len(places),
            )
            for (code, column), places in sorted(self.seen.items(), key=lambda item: item[0][1])
        )


def split_fields(line: str, separator: str) -> list[str]:
    """Fields of a line; a separator inside double quotes does not split, and the quotes stay."""
    if '"' not in line:
        return line.split(separator)
    fields, quoted, start = [], False, 0
    for position, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == separator and not quoted:
            fields.append(line[start:position])
            start = position + 1
    return [*fields, line[start:]]


def read_field(text: str, log: FieldLog, line: int, column: int) -> float:
    """Value of a field; NaN, and a note in the log, where it holds no reading."""
    bare = text.strip()
    quoted = len(bare) >= 2 and bare[0] == bare[-1] == '"'
    bare = bare[1:-1].strip() if quoted else bare
    if bare.lower() in ABSENT:
        return log.note(Code.NOT_A_READING, line, column, bare)
    if log.decimal_comma and "." not in bare:
        bare = bare.replace(",", ".")
    elif log.decimal_comma:
        raise _refused(Code.BAD_NUMBER, log, line, column, text, "Write one decimal sign in the whole file")
    if not _NUMBER.fullmatch(bare):
        raise _not_a_number(bare, log, line, column, text)
    value = float(bare)
    if abs(value) > LARGEST or 0 < abs(value) < SMALLEST:
        return log.note(Code.ABSURD_VALUE, line, column, bare)
    return value


def read_time(text: str, log: FieldLog, line: int, column: int) -> float:
    """A number, or the seconds since 1970 of a date and time; one without a zone is taken as UTC."""
    bare = text.strip().strip("\"'")
    if len(bare) < len("2024-05-01") or bare[4:5] != "-":
        return read_field(text, log, line, column)
    try:
        moment = datetime.fromisoformat(bare)
    except ValueError:
        remedy = "Write 2024-05-01T12:00:00.5, or seconds as a number"
        raise _refused(Code.TIME_UNREADABLE, log, line, column, text, remedy, "a date and time") from None
    log.dated = True
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def is_absurd(values: np.ndarray) -> np.ndarray:
    """True where a number cannot come from a sensor or a clock."""
    size = np.abs(values)
    return (size > LARGEST) | ((size > 0) & (size < SMALLEST))


def _not_a_number(bare: str, log: FieldLog, line: int, column: int, text: str) -> ReadError:
    if _THOUSANDS.fullmatch(bare):
        remedy = "Write numbers without a thousands separator, with a decimal point"
        return _refused(Code.QUOTED_THOUSANDS, log, line, column, text, remedy)
    remedy = "Correct the field, write nan if there was no reading, or leave the column out"
    if all(_NUMBER.fullmatch(word) for word in bare.split()):
        remedy = "Part the columns by commas, semicolons or tabs, in the header too"
    return _refused(Code.BAD_NUMBER, log, line, column, text, remedy)


def _refused(
    code: Code, log: FieldLog, line: int, column: int, text: str, remedy: str, expected: str = "a number"
) -> ReadError:
    return ReadError(
        code,
        file=log.file,
        line=line,
        column=column + 1,
        seen=f"{text.strip()[:40]!r} under {log.names[column]}",
        expected=expected,
        remedy=remedy,
    )

"""One block of whitespace-separated numbers: all at once, or line by line to name what is wrong."""

import numpy as np
import pyarrow as pa
from pyarrow import csv

from unmixnet.data.arrow_columns import columns_of
from unmixnet.data.codes import Code
from unmixnet.data.fields import FieldLog, read_field
from unmixnet.data.refusal import ReadError

__all__ = ["parse_block"]

_SPACE = 32


def parse_block(text: bytes, file: str, first_line: int, width: int) -> np.ndarray:
    """Numbers of complete lines, shape (rows, width).

    Arguments:
        text: complete lines.
        file, first_line: where the text stands, for messages.
        width: numbers expected in each line.
    """
    single = _single_spaced(text)
    if not single.strip(b"\n"):
        return np.empty((0, width))
    if b"\0" in single:
        raise _nul(text, file, first_line)
    names = [str(i) for i in range(width)]
    try:
        table = csv.read_csv(
            pa.BufferReader(single),
            read_options=csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float64()), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return _line_by_line(single, file, first_line, width)
    return columns_of(table, names)


def _single_spaced(text: bytes) -> bytes:
    """The same numbers with one space between them and none at the ends of lines."""
    for blank in (b"\r", b"\t"):
        if blank in text:
            text = text.replace(blank, b" ")
    symbols = np.frombuffer(text, np.uint8)
    blank_next = np.empty(len(symbols), bool)
    np.less_equal(symbols[1:], _SPACE, out=blank_next[:-1])
    blank_next[-1:] = False
    np.logical_and(blank_next, symbols == _SPACE, out=blank_next)
    single = symbols[~blank_next].tobytes() if blank_next.any() else text
    return (single.replace(b"\n ", b"\n") if b"\n " in single else single).lstrip(b" ")


def _line_by_line(text: bytes, file: str, first_line: int, width: int) -> np.ndarray:
    """Every field with the strict rules of CSV fields, so that a refusal names its line and column."""
    log = FieldLog(file, tuple(f"field {i + 1}" for i in range(width)))
    rows = []
    for number, line in enumerate(text.decode("latin-1").split("\n"), start=first_line):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != width:
            raise ReadError(
                Code.RAGGED_ROW,
                file=file,
                line=number,
                column=min(len(fields), width) + 1,
                seen=f"{len(fields)} fields: {line[:40]!r}",
                expected=f"{width} numbers",
                remedy="Fetch the file again; if it stays, delete the line",
            )
        rows.append([read_field(field, log, number, i) for i, field in enumerate(fields)])
    return np.array(rows)


def _nul(text: bytes, file: str, first_line: int) -> ReadError:
    at = text.index(b"\0")
    return ReadError(
        Code.NUL_BYTES,
        file=file,
        line=first_line + text.count(b"\n", 0, at),
        seen=f"{text.count(bytes(1))} NUL bytes",
        expected="text",
        remedy="Fetch the file again: a block of it was never written",
    )

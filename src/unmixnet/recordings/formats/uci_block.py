"""One block of whitespace-separated numbers: all at once, or line by line to name what is wrong."""

import numpy as np
import pyarrow as pa
from pyarrow import csv

from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats.arrow_columns import columns_of
from unmixnet.recordings.formats.fields import FieldLog, read_field
from unmixnet.recordings.refusal import ReadError

__all__ = ["parse_block", "parse_lines"]

_SPACE = 32
_IN_CACHE = 1 << 17


def parse_block(text: bytes, width: int) -> np.ndarray | None:
    """Numbers of complete lines, shape (lines, width); None if any line needs a closer look.

    Arguments:
        text: complete lines.
        width: numbers expected in each line.
    """
    names = [str(i) for i in range(width)]
    try:
        table = csv.read_csv(
            pa.BufferReader(_single_spaced(text)),
            read_options=csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float64()), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    return columns_of(table, names)


def parse_lines(text: bytes, file: str, first_line: int, width: int) -> np.ndarray:
    """The same by the strict rules of CSV fields; blank lines are passed over, a refusal names its place.

    Arguments:
        text: complete lines.
        file, first_line: where the text stands, for messages.
        width: numbers expected in each line.
    """
    if b"\0" in text:
        raise _nul(text, file, first_line)
    log = FieldLog(file, tuple(f"field {i + 1}" for i in range(width)))
    rows = []
    for number, line in enumerate(text.decode("latin-1").split("\n"), start=first_line):
        fields = line.split()
        if fields and len(fields) != width:
            raise _ragged(file, number, line, len(fields), width)
        if fields:
            rows.append([read_field(field, log, number, i) for i, field in enumerate(fields)])
    return np.array(rows).reshape(-1, width)


def _single_spaced(text: bytes) -> bytes:
    """The same numbers with one space between them and none at the ends of lines."""
    for blank in (b"\r", b"\t"):
        if blank in text:
            text = text.replace(blank, b" ")
    slices = range(0, len(text), _IN_CACHE)  # Small enough for the processor's cache: twice as fast.
    single = b"".join(_without_runs(text[at : at + _IN_CACHE + 1], last=at == slices[-1]) for at in slices)
    return (single.replace(b"\n ", b"\n") if b"\n " in single else single).lstrip(b" ")


def _without_runs(text: bytes, last: bool) -> bytes:
    """Text without the spaces that white space follows; the byte after a slice decides about its last."""
    symbols = np.frombuffer(text, np.uint8)
    keep = np.empty(len(symbols), bool)
    np.greater(symbols[1:], _SPACE, out=keep[:-1])
    np.logical_or(keep, symbols != _SPACE, out=keep)
    keep[-1:] = last
    return symbols[keep].tobytes()


def _ragged(file: str, line: int, text: str, fields: int, width: int) -> ReadError:
    return ReadError(
        Code.RAGGED_ROW,
        file=file,
        line=line,
        column=min(fields, width) + 1,
        seen=f"{fields} fields: {text[:40]!r}",
        expected=f"{width} numbers",
        remedy="Fetch the file again; if it stays, delete the line",
    )


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

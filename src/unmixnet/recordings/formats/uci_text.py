"""UCI 322 text: one header line, then time [s], two gases [ppm] and 16 readings in columns, 4.2 million rows.

The text is read in blocks of bounded size, so a file larger than memory can be streamed into a cache.
Readings S are conductances in steps of 25 nS: the resistance in kΩ is 40000 / S.
"""

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.arrow_columns import columns_of
from unmixnet.recordings.formats.fields import LARGEST, FieldLog, read_field
from unmixnet.recordings.formats.text import open_recording
from unmixnet.recordings.recording import Finding

__all__ = ["GAS_NAMES", "SENSORS", "UNIT", "UciBlock", "UciStream", "looks_like_uci", "parse_block", "parse_lines"]

SENSORS = tuple(f"s{i + 1:02d}" for i in range(16))
"""Sensors s01…s16: TGS2602 twice, TGS2600 twice, TGS2610 twice, TGS2620 twice, and the same again."""

UNIT = "25 nS"
BLOCK_BYTES = 4 << 20
_AHEAD = 2
_WIDTH = 3 + len(SENSORS)
_GAS = re.compile(r"(\w+)\s+conc", re.IGNORECASE)
GAS_NAMES: dict[str, str] = {"co": "CO", "methane": "methane", "ethylene": "ethylene"}
"""Our spelling of the gases."""


def looks_like_uci(head: bytes) -> bool:
    """True if a file begins with the header of the UCI 322 text files."""
    first = head.split(b"\n", 1)[0].lower()
    return first.lstrip(b"\xef\xbb\xbf ").startswith(b"time (seconds)") and b"conc (ppm)" in first


@dataclass(frozen=True)
class UciBlock:
    """Consecutive rows: time [s] (n,), exposure [ppm] (n, 2), readings (n, 16)."""

    time_s: np.ndarray
    exposure_ppm: np.ndarray
    readings: np.ndarray


@dataclass
class UciStream:
    """The rows of a UCI text file, block by block, once; findings are complete when all blocks were taken.

    Arguments:
        path: the file.
        block_bytes: text read at a time; memory use is about twenty times this.
    """

    path: Path
    block_bytes: int = BLOCK_BYTES
    gases: tuple[str, ...] = ()
    bytes_read: int = 0
    rows: int = 0
    absent: int = 0
    non_positive: int = 0
    _line: int = 2
    _rest: bytes = b""
    _time_s: float = -np.inf
    _cut: list[Finding] = field(default_factory=list)

    def __iter__(self) -> Iterator[UciBlock]:
        """Parse the file from its beginning."""
        with open_recording(self.path) as text:
            self.gases = self._read_header(text)
            yield from self._blocks(text)
        if not self.rows:
            raise self._refused(Code.NO_ROWS, 1, "a header and no complete row", "rows of 19 numbers")

    def findings(self) -> tuple[Finding, ...]:
        """What was odd about the rows taken so far."""
        findings = tuple(self._cut)
        if self.absent:
            message = f"{self.absent} fields hold nan, inf or a size no sensor has; kept as NaN"
            findings += (Finding(Code.NOT_A_READING, message, count=self.absent),)
        if self.non_positive:
            share = self.non_positive / (self.rows * len(SENSORS))
            message = f"{self.non_positive} readings ({share:.2%}) are at or under zero: 40000 / S is not a resistance"
            findings += (Finding(Code.NON_POSITIVE, message, count=self.non_positive),)
        return findings

    def _read_header(self, text: BinaryIO) -> tuple[str, ...]:
        header = text.readline(4096)
        self.bytes_read = len(header)
        written: list[str] = _GAS.findall(header.decode("latin-1"))
        gases = tuple(GAS_NAMES.get(gas.lower(), gas) for gas in written)
        if not looks_like_uci(header) or len(gases) != 2:
            seen = repr(header[:60].decode("latin-1"))
            raise self._refused(Code.UNKNOWN_FORMAT, 1, seen, "Time (seconds), … conc (ppm), …")
        return gases

    def _blocks(self, text: BinaryIO) -> Iterator[UciBlock]:
        """Blocks in order; the next ones are parsed in other threads while the caller works on this one."""
        with ThreadPoolExecutor(_AHEAD) as pool:
            parsing: deque[tuple[bytes, Future[np.ndarray | None]]] = deque()
            for chunk in self._chunks(text):
                parsing.append((chunk, pool.submit(parse_block, chunk, _WIDTH)))
                if len(parsing) > _AHEAD:
                    yield self._block(*parsing.popleft())
            while parsing:
                yield self._block(*parsing.popleft())
            self._note_cut()

    def _chunks(self, text: BinaryIO) -> Iterator[bytes]:
        """Complete lines, about `block_bytes` at a time."""
        while chunk := text.read(self.block_bytes):
            self.bytes_read += len(chunk)
            whole, newline, tail = chunk.rpartition(b"\n")
            if newline:
                yield self._rest + whole + newline
                self._rest = tail
            elif len(self._rest) > self.block_bytes:
                line = f"a line of over {self.block_bytes:,} bytes"
                raise self._refused(Code.NOT_TEXT, None, line, "rows of text")
            else:
                self._rest += chunk

    def _block(self, text: bytes, parsed: "Future[np.ndarray | None]") -> UciBlock:
        values = parsed.result()
        first_line = self._line
        self._line += text.count(b"\n") if values is None else len(values)
        if values is None:
            values = parse_lines(text, str(self.path), first_line, _WIDTH)
        self.rows += len(values)
        bad = ~(np.abs(values) <= LARGEST)  # Also true for NaN.
        if bad.any():
            if bad[:, 0].any():
                line = first_line + int(np.argmax(bad[:, 0]))
                raise self._refused(Code.TIME_UNREADABLE, line, "no time", "a number of seconds", column=1)
            self.absent += int(bad.sum())
            values[bad] = np.nan
        self._check_order(values[:, 0], first_line)
        self.non_positive += int((values[:, 3:] <= 0).sum())
        return UciBlock(values[:, 0], values[:, 1:3], values[:, 3:])

    def _check_order(self, time_s: np.ndarray, first_line: int) -> None:
        """Refuse a time that goes back, also from one block to the next."""
        steps = np.diff(time_s, prepend=self._time_s)
        if len(steps) and steps.min() < 0:
            row = int(np.argmax(steps < 0))
            seen = f"time {time_s[row]:g} s, less than in the line before"
            raise self._refused(Code.TIME_BACKWARDS, first_line + row, seen, "a time that grows", column=1)
        self._time_s = float(time_s[-1]) if len(time_s) else self._time_s

    def _note_cut(self) -> None:
        """Note what follows the last complete line."""
        rest = self._rest
        body = rest.rstrip(b"\0")
        if len(body) < len(rest):
            message = f"{len(rest) - len(body)} NUL bytes after the last row were set aside"
            self._cut.append(Finding(Code.NUL_TAIL, message, self._line, count=len(rest) - len(body)))
        if body.strip():
            line, at = self._line, self.bytes_read - len(rest) + 1
            message = (
                f"the file ends inside line {line} (byte {at:,}): {body[:40].decode('latin-1')!r} was set "
                f"aside, the {self.rows:,} rows before it are complete"
            )
            self._cut.append(Finding(Code.CUT_LINE, message, line))

    def _refused(self, code: Code, line: int | None, seen: str, expected: str, column: int | None = None) -> ReadError:
        return ReadError(
            code,
            file=str(self.path),
            line=line,
            column=column,
            seen=seen,
            expected=expected,
            remedy="Fetch the file again with `unmixnet data fetch uci-dynamic`",
        )


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

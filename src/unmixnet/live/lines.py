"""Lines that boards print, as samples: from bytes to lines, clocks, our protocol with a checksum, plotter and CSV."""

import binascii
import re
from dataclasses import dataclass

from unmixnet.live.sample import Rejected, Sample
from unmixnet.recordings.channels import canonical_name

__all__ = [
    "LONGEST_LINE",
    "MILLIS",
    "REASONS",
    "Clock",
    "Framing",
    "LineParser",
    "ProtocolLine",
    "crc16",
    "read_protocol",
]

LONGEST_LINE = 1024
"""Bytes of a line; a longer one is given as far as that and marked as too long."""


class Framing:
    """Cuts a stream of bytes at `\\n`; what follows the last one waits for the next bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes]:
        """Complete lines without their ends; of a line that is too long, `LONGEST_LINE` + 1 bytes."""
        *lines, rest = (self._rest + data).split(b"\n")
        if self._too_long and lines:
            # its beginning was given already
            lines, self._too_long = lines[1:], False
        complete = [line[: LONGEST_LINE + 1] for line in lines]
        if self._too_long:
            rest = b""
        elif len(rest) > LONGEST_LINE:
            complete.append(rest[: LONGEST_LINE + 1])
            rest, self._too_long = b"", True
        self._rest = rest
        return complete


MILLIS = 2**32
"""`millis()` counts up to this and begins anew."""
_LONGEST_STEP_MS = 3_600_000


class Clock:
    """Monotone seconds since the first sample."""

    def __init__(self) -> None:
        # Milliseconds are summed by themselves: whole numbers stay exact over months.
        self._by_host_s, self._by_board_ms = 0.0, 0.0
        self._millis: float | None = None
        self._host_s: float | None = None

    def at(self, host_s: float, millis: float | None = None) -> float:
        """Time of a sample [s], never before that of the last one.

        Arguments:
            host_s: when the line arrived, by a monotone clock of the host [s].
            millis: count of the board [ms], if the line carries it.
        """
        if self._host_s is not None:
            self._advance(max(host_s - self._host_s, 0.0), millis)
        self._millis, self._host_s = millis, host_s
        return self._by_host_s + self._by_board_ms / 1000

    def _advance(self, host_step_s: float, millis: float | None) -> None:
        if millis is not None and self._millis is not None:
            step_ms = (millis - self._millis) % MILLIS
            if step_ms <= _LONGEST_STEP_MS:
                self._by_board_ms += step_ms
                return
        self._by_host_s += host_step_s


_LINE = re.compile(r"U1,(\d{1,10}),(\d{1,10}),([^*]+)\*([0-9A-Fa-f]{4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProtocolLine:
    """A line of the protocol; `sound` says whether its checksum matches, `readings` are still text."""

    sequence: int
    millis: int
    readings: tuple[tuple[str, str], ...]
    sound: bool


def crc16(text: str) -> int:
    """CRC-16/CCITT-FALSE of a text."""
    return binascii.crc_hqx(text.encode(), 0xFFFF)


def read_protocol(line: str) -> ProtocolLine | None:
    """The parts of a line; None if it has another form."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    pairs = (pair.partition("=") for pair in match[3].split(","))
    readings = tuple((name, value) for name, _, value in pairs)
    return ProtocolLine(int(match[1]), int(match[2]), readings, int(match[4], 16) == crc16(line[:-5]))


REASONS = (
    TOO_LONG := "longer than 1024 bytes",
    NOT_TEXT := "not plain text",
    NOT_UNDERSTOOD := "neither NAME:value, nor CSV, nor our protocol",
    CHECKSUM := "the checksum does not match",
    REPEATED := "a sequence number that was there already",
    NOT_YET := "the channels are not known yet",
    CUT := "the first line after connecting may be cut",
    OTHER_CHANNELS := "other channels than the lines before",
    NOT_A_NUMBER := "a reading that is not a number",
    BAD_NAME := "channel names that cannot be used",
)
"""Every reason for which a line is rejected."""

_MOST_CHANNELS, _LONGEST_NAME, _LARGEST = 64, 40, 1e16
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_ABSENT = frozenset(["nan", "inf", "+inf", "-inf", "ovf", "-ovf"])
_SEPARATORS = re.compile(r"[,;\t]")
_CLOCKS = dict.fromkeys(["millis", "ms", "time_ms", "t_ms", "timestamp_ms", "elapsed_ms"], 1.0)
_CLOCKS |= dict.fromkeys(["time_s", "t_s", "seconds", "timestamp_s"], 1000.0)
"""Names of columns that hold the board's time, and how many ms one of their unit is."""


class _LineError(Exception):
    """A line that is not a sample; never leaves this module."""


class LineParser:
    """Turns the lines of one source into samples.

    Channels are fixed by a line of our protocol (its checksum vouches for them), by a CSV header whose next row fits
    it, or by two lines in succession that agree: one line alone may be cut. They never change afterwards.
    """

    def __init__(self) -> None:
        self.channels: tuple[str, ...] | None = None
        self.missed = 0
        """Lines that were sent and never arrived, by the sequence numbers of our protocol."""
        self._clock = Clock()
        self._kind, self._written = "", ()
        self._clock_column: int | None = None
        self._candidate: tuple[str, tuple[str, ...]] | None = None
        self._heading: tuple[str, ...] | None = None
        self._sequence: int | None = None
        self._first = True

    def connected(self) -> None:
        """Mark the next line as the first of a connection, which may be cut."""
        self._first = True

    def parse(self, raw: bytes, host_s: float) -> Sample | Rejected | None:
        """One line; None if it is blank, a comment (`#`) or a header.

        Arguments:
            raw: the line, with or without its end.
            host_s: when it arrived, by a monotone clock [s].
        """
        try:
            line = _text(raw)
            return self._sample(line, host_s) if line and line[0] != "#" else None
        except _LineError as refusal:
            return Rejected(str(refusal), raw[:LONGEST_LINE].decode("utf-8", "replace").strip())
        finally:
            self._first = False

    def _sample(self, line: str, host_s: float) -> Sample | None:
        if line.startswith("U1,"):
            return self._of_protocol(line, host_s)
        if self._kind == "protocol":
            raise _LineError(NOT_UNDERSTOOD)
        return self._of_plotter(line, host_s) if ":" in line else self._of_csv(line, host_s)

    def _of_protocol(self, line: str, host_s: float) -> Sample:
        parts = read_protocol(line)
        if parts is None:
            raise _LineError(NOT_UNDERSTOOD)
        if not parts.sound:
            raise _LineError(CHECKSUM)
        names, values = tuple(name for name, _ in parts.readings), tuple(_number(text) for _, text in parts.readings)
        if self.channels is None:
            self._adopt("protocol", names)
        self._same("protocol", names)
        self._follow(parts.sequence)
        return Sample(self._clock.at(host_s, parts.millis), values)

    def _follow(self, sequence: int) -> None:
        """Count what the sequence numbers leave out; they begin anew when the board does."""
        if sequence == self._sequence:
            raise _LineError(REPEATED)
        if self._sequence is not None and sequence > self._sequence:
            self.missed += sequence - self._sequence - 1
        self._sequence = sequence

    def _of_plotter(self, line: str, host_s: float) -> Sample:
        pairs = [word.partition(":") for word in line.replace(": ", ":").replace(",", " ").split()]
        if not all(name and colon for name, colon, _ in pairs):
            raise _LineError(NOT_UNDERSTOOD)
        values = [_number(value) for _, _, value in pairs]
        self._agree("plotter", tuple(name for name, _, _ in pairs))
        return self._timed(values, host_s)

    def _of_csv(self, line: str, host_s: float) -> Sample | None:
        fields = [field.strip() for field in _SEPARATORS.split(line.rstrip(",;\t"))]
        if not any(_NUMBER.match(field) or field.lower() in _ABSENT for field in fields):
            return self._header(tuple(field.strip("\"'") for field in fields))
        values = [_number(field) for field in fields]
        if self._first:
            # `127,31` cut to `7,31` looks sound
            raise _LineError(CUT)
        if self.channels is None and self._heading is not None and len(self._heading) == len(values):
            self._adopt("csv", self._heading)
        if self._kind != "csv" or len(values) != len(self._written):
            self._agree("csv", tuple(f"S{i + 1}" for i in range(len(values))))
        return self._timed(values, host_s)

    def _header(self, names: tuple[str, ...]) -> None:
        """Remember names for the next row, which shows whether they are a header or a message of the board."""
        if len(names) < 2 or not all(names):
            raise _LineError(NOT_UNDERSTOOD)
        if self.channels is not None:
            self._same("csv", names)
        self._heading = names

    def _agree(self, kind: str, names: tuple[str, ...]) -> None:
        """Fix the channels once two lines in succession name the same."""
        if self.channels is None:
            if self._candidate != (kind, names):
                self._candidate = kind, names
                raise _LineError(NOT_YET)
            self._adopt(kind, names)
        self._same(kind, names)

    def _same(self, kind: str, names: tuple[str, ...]) -> None:
        if kind != self._kind or names != self._written:
            raise _LineError(OTHER_CHANNELS)

    def _adopt(self, kind: str, written: tuple[str, ...]) -> None:
        clock = next((i for i, name in enumerate(written) if name.lower() in _CLOCKS and kind != "protocol"), None)
        channels = tuple(canonical_name(name) for i, name in enumerate(written) if i != clock)
        few = 0 < len(channels) <= _MOST_CHANNELS and len(set(channels)) == len(channels)
        if not few or not all(_usable(name) for name in channels):
            raise _LineError(BAD_NAME)
        self._kind, self._written, self._clock_column, self.channels = kind, written, clock, channels

    def _timed(self, values: list[float], host_s: float) -> Sample:
        if self._clock_column is None:
            return Sample(self._clock.at(host_s), tuple(values))
        millis = values.pop(self._clock_column) * _CLOCKS[self._written[self._clock_column].lower()]
        if millis != millis:
            raise _LineError(NOT_A_NUMBER)
        return Sample(self._clock.at(host_s, millis), tuple(values))


def _text(raw: bytes) -> str:
    """A line without its end and the spaces around it."""
    if len(raw) > LONGEST_LINE:
        raise _LineError(TOO_LONG)
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise _LineError(NOT_TEXT) from None
    if not text.replace("\t", " ").isprintable():
        raise _LineError(NOT_TEXT)
    return text


def _number(text: str) -> float:
    """A reading; NaN where the board reports none, or a value that no sensor has."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        value = float(text)
        return value if abs(value) <= _LARGEST else float("nan")
    if text.lower() in _ABSENT:
        return float("nan")
    raise _LineError(NOT_A_NUMBER)


def _usable(name: str) -> bool:
    """True for a name that a CSV header can carry; `=` in front would be a formula in a spreadsheet."""
    return 0 < len(name) <= _LONGEST_NAME and name[0] not in "=+-@" and not set(name) & set(',;"')

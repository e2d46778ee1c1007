"""Our line protocol: `U1,<sequence>,<millis>,NAME=VALUE,…*<CRC-16>`, as the sketch under `firmware/` prints it.

The CRC is CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF, not reflected) of everything before the `*`, as four
hexadecimal digits; that of "123456789" is 29B1. Sequence and `millis()` are unsigned 32-bit numbers.
"""

import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ProtocolLine", "crc16", "protocol_line", "read_protocol"]

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


def protocol_line(sequence: int, millis: int, readings: Mapping[str, float]) -> str:
    """A line of the protocol, without its end."""
    body = ",".join([f"U1,{sequence},{millis}", *(f"{name}={value:.10g}" for name, value in readings.items())])
    return f"{body}*{crc16(body):04X}"


def read_protocol(line: str) -> ProtocolLine | None:
    """The parts of a line; None if it has not that form."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    pairs = (pair.partition("=") for pair in match[3].split(","))
    readings = tuple((name, value) for name, _, value in pairs)
    return ProtocolLine(int(match[1]), int(match[2]), readings, int(match[4], 16) == crc16(line[:-5]))

"""Lines as boards send them, and what becomes of lines on bad wires."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from unmixnet.live.lines import crc16

NAMES = ("MOX1", "MOX2", "MOX3", "MOX4")


def protocol_line(sequence: int, millis: int, readings: Mapping[str, float]) -> str:
    """A line of the protocol as the firmware prints it, without its end."""
    body = ",".join([f"U1,{sequence},{millis}", *(f"{name}={value:.10g}" for name, value in readings.items())])
    return f"{body}*{crc16(body):04X}"


def sound_line(number: int, names: tuple[str, ...] = NAMES) -> bytes:
    """Line `number` of a board at 10 Hz; its first reading is the number itself."""
    readings = {name: float(number if i == 0 else 200 + i) for i, name in enumerate(names)}
    return protocol_line(number % 2**32, 100 * number % 2**32, readings).encode()


def _flipped(line: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(line)))
    return line[:at] + bytes([line[at] ^ (1 << int(rng.integers(8)))]) + line[at + 1 :]


def _cut(line: bytes, rng: np.random.Generator) -> bytes:
    return line[int(rng.integers(1, len(line) - 1)) :]


def _without_end(line: bytes, rng: np.random.Generator) -> bytes:
    return line[: int(rng.integers(1, len(line)))]


def _missing_middle(line: bytes, rng: np.random.Generator) -> bytes:
    first, last = sorted(rng.integers(1, len(line), 2).tolist())
    return line[:first] + line[last:]


def _two_in_one(line: bytes, rng: np.random.Generator) -> bytes:
    return line[: int(rng.integers(1, len(line)))] + line


def _rubbish(line: bytes, rng: np.random.Generator) -> bytes:
    return rng.bytes(int(rng.integers(1, 200)))


def _endless(line: bytes, rng: np.random.Generator) -> bytes:
    return b"7" * int(rng.integers(1025, 9000))


def _nul(line: bytes, rng: np.random.Generator) -> bytes:
    return line[:7] + b"\0" * int(rng.integers(1, 20)) + line[7:]


FAULTS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    _flipped,
    _cut,
    _without_end,
    _missing_middle,
    _two_in_one,
    _rubbish,
    _endless,
    _nul,
    lambda line, rng: b"Brownout detector was triggered",
    lambda line, rng: b"rst:0x1 (POWERON_RESET),boot:0x13",
    lambda line, rng: line.replace(b"MOX2", b"MOX9"),
    lambda line, rng: line.replace(b"=", b":"),
    lambda line, rng: b"NO2:27,CO:31",
    lambda line, rng: b"1,2,3,4",
    lambda line, rng: b"U1,,,*0000",
    lambda line, rng: b"=cmd|' /C calc'!A0,2,3",
)


def damaged(line: bytes, rng: np.random.Generator) -> bytes:
    """One line with one fault: it has no line end within, and is neither blank nor a comment."""
    fault = FAULTS[int(rng.integers(len(FAULTS)))]
    bad = fault(line, rng).replace(b"\n", b"?").replace(b"\r", b"?")
    return b"?" + bad if not bad.decode("utf-8", "replace").strip() or bad.strip()[:1] == b"#" else bad


def board(lines: int, faults: int = 0, seed: int = 0) -> Iterator[bytes]:
    """So many lines with their ends, so many of them damaged."""
    rng = np.random.default_rng(seed)
    bad = set(rng.choice(lines, faults, replace=False).tolist()) if faults else set()
    for number in range(lines):
        line = sound_line(number)
        yield (damaged(line, rng) if number in bad else line) + b"\n"

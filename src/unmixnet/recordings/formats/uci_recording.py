"""UCI 322 as a recording: the whole text file at its full rate."""

from pathlib import Path

import numpy as np

from unmixnet.recordings.formats.timebase import from_column
from unmixnet.recordings.formats.uci_text import SENSORS, UNIT, UciStream
from unmixnet.recordings.health import judge
from unmixnet.recordings.recording import Finding, Recording

__all__ = ["DEVICE", "assemble_uci", "read_uci_text"]

DEVICE = "UCI 322 (16 Figaro TGS sensors)"
_COUNT_BYTES = 1 << 22


def read_uci_text(path: Path, place: str) -> Recording:
    """The whole file at its full rate, in memory for one copy of the numbers and a little more.

    Arguments:
        path: the text file.
        place: what to store as the path of the recording.
    """
    stream = UciStream(path)
    capacity = _count_lines(path)
    time_s, exposure = np.empty(capacity), np.empty((2, capacity)).T
    readings = np.empty((len(SENSORS), capacity)).T
    row = 0
    for block in stream:
        span = slice(row, row + len(block.time_s))
        time_s[span], exposure[span], readings[span] = block.time_s, block.exposure_ppm, block.readings
        row = span.stop
    return assemble_uci(
        path, place, (time_s[:row], readings[:row], exposure[:row]), SENSORS, stream.gases, stream.findings()
    )


def assemble_uci(
    path: Path,
    place: str,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
    sensors: tuple[str, ...],
    gases: tuple[str, ...],
    findings: tuple[Finding, ...],
) -> Recording:
    """A recording from its arrays (time, readings, exposure), with verdicts on time and channels."""
    time_s, readings, exposure = arrays
    lines = np.arange(2, len(time_s) + 2)
    times = from_column(time_s, "s", file=str(path), column=1, lines=lines)
    units = (UNIT,) * len(sensors)
    checkup = judge(readings, sensors, units)
    return Recording(
        time_s=times.time_s,
        readings=checkup.readings,
        channels=sensors,
        units=units,
        sample_rate_Hz=times.sample_rate_Hz,
        device=DEVICE,
        path=place,
        label=None,
        health=checkup.health,
        warnings=findings + times.findings + checkup.findings,
        gases=gases,
        exposure_ppm=exposure,
    )


def _count_lines(path: Path) -> int:
    with path.open("rb") as text:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: text.read(_COUNT_BYTES), b""))

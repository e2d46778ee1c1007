"""UCI 322 as a recording: the whole text file at its full rate, or excerpts in Parquet."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.formats.arrow_columns import columns_of
from unmixnet.recordings.formats.format import Format
from unmixnet.recordings.formats.text import open_recording
from unmixnet.recordings.formats.timebase import from_column
from unmixnet.recordings.formats.uci_text import GAS_NAMES, SENSORS, UNIT, UciStream, looks_like_uci
from unmixnet.recordings.health import judge
from unmixnet.recordings.recording import Finding, Recording

__all__ = ["DEVICE", "UCI_PARQUET", "UCI_TEXT", "read_uci_parquet", "read_uci_text"]

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
    return _assemble(
        path, place, (time_s[:row], readings[:row], exposure[:row]), SENSORS, stream.gases, stream.findings()
    )


def _assemble(
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
    with open_recording(path) as text:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: text.read(_COUNT_BYTES), b""))


_TIMES = ("time_s", "t_s")
_SENSOR = re.compile(r"s\d\d")


def read_uci_parquet(path: Path, place: str) -> Recording:
    """A table with a time column, `…_ppm` columns and sensors s01…; where `sNN_visible` is false, NaN."""
    try:
        table = parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise _bad_table(path, str(error).splitlines()[0], "a Parquet table") from None
    names: list[str] = list(table.column_names)
    clock = next((name for name in _TIMES if name in names), None)
    sensors = tuple(name for name in names if _SENSOR.fullmatch(name))
    gases = tuple(name for name in names if name.endswith("_ppm"))
    if clock is None or not sensors or not table.num_rows:
        raise _bad_table(path, f"columns {', '.join(names)}", "time_s, gases in ppm and sensors s01…")
    try:
        time_s, readings, exposure = (columns_of(table, group) for group in ([clock], sensors, gases))
        findings = _hide(table, readings, sensors)
    except (pa.ArrowException, ValueError) as error:
        raise _bad_table(path, str(error).splitlines()[0], "numbers in every column") from None
    spelled = tuple(GAS_NAMES.get(gas.removesuffix("_ppm"), gas.removesuffix("_ppm")) for gas in gases)
    return _assemble(path, place, (time_s[:, 0], readings, exposure), sensors, spelled, findings)


def _hide(table: pa.Table, readings: np.ndarray, sensors: tuple[str, ...]) -> tuple[Finding, ...]:
    """Put NaN where a digitised curve was not visible, with a finding."""
    findings: tuple[Finding, ...] = ()
    for m, sensor in enumerate(sensors):
        if f"{sensor}_visible" in table.column_names:
            hidden = columns_of(table, [f"{sensor}_visible"])[:, 0] != 1
            readings[hidden, m] = np.nan
            message = f"{sensor}: {hidden.sum()} rows where the digitised curve is hidden; kept as NaN"
            if hidden.any():
                findings += (Finding(Code.NOT_A_READING, message, channel=sensor, count=int(hidden.sum())),)
    return findings


def _bad_table(path: Path, seen: str, expected: str) -> ReadError:
    return ReadError(
        Code.BAD_TABLE,
        file=str(path),
        seen=seen,
        expected=expected,
        remedy="Delete the file and make or fetch it again",
    )


UCI_PARQUET = Format(
    "uci-parquet",
    (".parquet",),
    lambda content: content.head.startswith(b"PAR1"),
    lambda content: read_uci_parquet(content.path, content.place),
)

UCI_TEXT = Format(
    "uci-text",
    (".txt",),
    lambda content: looks_like_uci(content.head),
    lambda content: read_uci_text(content.path, content.place),
)

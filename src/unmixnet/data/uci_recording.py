"""UCI 322 as a recording: the whole text file, or a Parquet table of the same columns."""

import re
from pathlib import Path

import numpy as np

from unmixnet.data.codes import Code
from unmixnet.data.health import judge
from unmixnet.data.recording import Finding, Recording
from unmixnet.data.refusal import ReadError
from unmixnet.data.timebase import from_column
from unmixnet.data.uci import GAS_NAMES, SENSORS, UNIT, UciStream

__all__ = ["DEVICE", "read_uci_parquet", "read_uci_text"]

DEVICE = "UCI 322 (16 Figaro TGS sensors)"
_TIMES = ("time_s", "t_s")
_SENSOR = re.compile(r"s\d\d")
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
    return _recording(
        path, place, (time_s[:row], readings[:row], exposure[:row]), SENSORS, stream.gases, stream.findings()
    )


def read_uci_parquet(path: Path, place: str) -> Recording:
    """A table with a time column, `…_ppm` columns and sensors s01…; where `sNN_visible` is false, NaN."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise _bad_table(path, str(error).splitlines()[0], "a Parquet table") from None
    names: list[str] = list(table.column_names)
    clock = next((name for name in _TIMES if name in names), None)
    sensors = tuple(name for name in names if _SENSOR.fullmatch(name))
    gases = tuple(name for name in names if name.endswith("_ppm"))
    if clock is None or not sensors or not table.num_rows:
        raise _bad_table(path, f"columns {', '.join(names)}", "time_s, gases in ppm and sensors s01…")
    try:
        times, readings, exposure = (
            np.column_stack([np.asarray(table[name].to_numpy(), dtype=float) for name in group])
            if group
            else np.empty((table.num_rows, 0))
            for group in ((clock,), sensors, gases)
        )
        hidden = _hidden(table, sensors)
    except (ValueError, TypeError) as error:
        raise _bad_table(path, str(error), "numbers in every column") from None
    findings = _hide(readings, hidden, sensors)
    spelled = tuple(GAS_NAMES.get(gas.removesuffix("_ppm"), gas.removesuffix("_ppm")) for gas in gases)
    return _recording(path, place, (times[:, 0], readings, exposure), sensors, spelled, findings)


def _hidden(table, sensors: tuple[str, ...]) -> np.ndarray:
    """True where a digitised curve was not visible."""
    rows = table.num_rows
    shown = [
        np.asarray(table[f"{name}_visible"].to_numpy(), dtype=bool)
        if f"{name}_visible" in table.column_names
        else np.ones(rows, bool)
        for name in sensors
    ]
    return ~np.column_stack(shown)


def _hide(readings: np.ndarray, hidden: np.ndarray, sensors: tuple[str, ...]) -> tuple[Finding, ...]:
    """Put NaN where a curve was hidden, and say so."""
    readings[hidden] = np.nan
    return tuple(
        Finding(
            Code.NOT_A_READING,
            f"{sensor}: {count} rows where the digitised curve is hidden; kept as NaN",
            channel=sensor,
            count=int(count),
        )
        for sensor, count in zip(sensors, hidden.sum(axis=0), strict=True)
        if count
    )


def _recording(
    path: Path,
    place: str,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
    sensors: tuple[str, ...],
    gases: tuple[str, ...],
    findings: tuple[Finding, ...],
) -> Recording:
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


def _bad_table(path: Path, seen: str, expected: str) -> ReadError:
    return ReadError(
        Code.BAD_TABLE,
        file=str(path),
        seen=seen,
        expected=expected,
        remedy="Delete the file and make or fetch it again",
    )

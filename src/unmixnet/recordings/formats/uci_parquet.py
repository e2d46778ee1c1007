"""UCI 322 in Parquet: excerpts of the data set, digitised figures, and the views of the cache."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats.arrow_columns import columns_of
from unmixnet.recordings.formats.uci_recording import assemble_uci
from unmixnet.recordings.formats.uci_text import GAS_NAMES
from unmixnet.recordings.recording import Finding, Recording
from unmixnet.recordings.refusal import ReadError

__all__ = ["read_uci_parquet"]

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
    return assemble_uci(path, place, (time_s[:, 0], readings, exposure), sensors, spelled, findings)


def _hide(table: pa.Table, readings: np.ndarray, sensors: tuple[str, ...]) -> tuple[Finding, ...]:
    """Put NaN where a digitised curve was not visible, and say so."""
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

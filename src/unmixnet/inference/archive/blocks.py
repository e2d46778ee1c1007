"""Rows of a file in bounded blocks: a text recording is one block, a Parquet file many."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.inference.archive.inputs import ErrorRow, error_row
from unmixnet.recordings.channels import canonical_name
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.health import judge
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.recording import ChannelHealth, Recording
from unmixnet.recordings.trace import missing_channels

__all__ = ["MOST_TEXT_BYTES", "RowBlock", "blocks_of"]

MOST_TEXT_BYTES = 64 << 20
"""A text recording is read as a whole, so its size bounds the memory of a worker."""
_ROWS = 1 << 16
_TIMES = ("time_s", "t_s", "time", "timestamp")
_RECORDING = "recording"


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows of one recording.

    Arguments:
        rows: as a recording of the model's channels.
        name: of the recording inside the file; "" where a file is one recording.
        line: of the first row, for messages.
    """

    rows: Recording
    name: str
    line: int


def blocks_of(path: Path, place: str, channels: Sequence[str]) -> Iterator[RowBlock | ErrorRow]:
    """Blocks of a file in order; what cannot be read becomes an error row, and reading goes on with the next block."""
    try:
        with path.open("rb") as file:
            is_table, size = file.read(4) == b"PAR1", path.stat().st_size
        if is_table:
            yield from _table(path, place, channels)
            return
        if size > MOST_TEXT_BYTES:
            raise UnmixError(
                f"{size / 1e6:.0f} MB of text, at most {MOST_TEXT_BYTES / 1e6:.0f} MB are read at once",
                remedy="Split the file, or write it as Parquet with the columns time_s and one for each channel",
            )
        recording = read_recording(path, place=place)
        if absent := missing_channels(channels, recording.channels, where=place):
            raise absent
        yield RowBlock(recording.select(channels), "", 2)
    except UnmixError as error:
        yield error_row(place, error)
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        yield error_row(place, UnmixError(f"the file cannot be read ({reason})", remedy="Check its permissions"))


def _table(path: Path, place: str, channels: Sequence[str]) -> Iterator[RowBlock | ErrorRow]:
    """Row group by row group; a damaged one is reported and skipped."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise _refused(path, str(error).splitlines()[0], "a Parquet table") from None
    with file:
        names = {canonical_name(name): name for name in reversed(file.schema_arrow.names)}
        clock = next((names[name] for name in _TIMES if name in names), None)
        if clock is None:
            raise _refused(path, f"columns {', '.join(file.schema_arrow.names[:20])}", "a time in the column time_s")
        if absent := missing_channels(channels, [name for name in names if name != clock], where=place):
            raise absent
        wanted = [clock, *(names[name] for name in channels)]
        wanted += [names[_RECORDING]] if _RECORDING in names else []
        line = 1
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            done = 0
            try:
                for batch in file.iter_batches(batch_size=_ROWS, row_groups=[group], columns=wanted):
                    yield from _blocks(pa.Table.from_batches([batch]), wanted, channels, place, line + done)
                    done += batch.num_rows
            except (pa.ArrowException, OSError, ValueError) as error:
                seen = f"row group {group + 1} of {file.num_row_groups} cannot be read ({str(error).splitlines()[0]})"
                yield error_row(place, _refused(path, seen, "numbers in every column"), line + done)
            line += rows


def _blocks(
    table: Any, wanted: Sequence[str], channels: Sequence[str], place: str, line: int
) -> Iterator[RowBlock | ErrorRow]:
    """The rows of a batch, cut where another recording begins."""
    from unmixnet.recordings.formats.arrow_columns import columns_of

    time_s = _seconds(table.column(wanted[0]))
    readings = columns_of(table, wanted[1 : 1 + len(channels)])
    names = _names(table, wanted) if len(wanted) > 1 + len(channels) else None
    edges = [0, table.num_rows] if names is None else [0, *(_changes(names) + 1).tolist(), len(names)]
    for start, stop in pairwise(edges):
        lost = np.flatnonzero(~np.isfinite(time_s[start:stop]))
        if len(lost):
            error = UnmixError(f"{len(lost)} rows have no time", remedy="Leave such rows out")
            yield error_row(place, error, line + start + int(lost[0]))
        elif stop > start:
            rows = _recording(time_s[start:stop], readings[start:stop], channels, place)
            yield RowBlock(rows, "" if names is None else str(names[start]), line + start)


def _seconds(column: Any) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float) / 1e9
    return column.cast(pa.float64()).fill_null(float("nan")).to_numpy(zero_copy_only=False)


def _names(table: Any, wanted: Sequence[str]) -> np.ndarray:
    import pyarrow as pa

    return np.asarray(table.column(wanted[-1]).cast(pa.string()).fill_null("").to_pylist(), object)


def _changes(names: np.ndarray) -> np.ndarray:
    return np.flatnonzero(names[1:] != names[:-1])


def _recording(time_s: np.ndarray, readings: np.ndarray, channels: Sequence[str], place: str) -> Recording:
    units = ("unknown",) * len(channels)
    clean = judge(readings, channels, units).readings
    step = np.diff(time_s)
    usual = float(np.median(step[step > 0])) if np.any(step > 0) else 1.0
    health = (ChannelHealth.UNIT_UNKNOWN,) * len(channels)
    return Recording(
        time_s.copy(), clean.copy(), tuple(channels), units, 1 / usual, "unknown device", place, None, health
    )


def _refused(path: Path, seen: str, expected: str) -> ReadError:
    return ReadError(
        Code.BAD_TABLE, file=str(path), seen=seen, expected=expected, remedy="Fetch or write the file again"
    )

"""Made-up archives: small recordings in folders, long ones in Parquet."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tests.inference.bundle.tiny import CHANNELS, RATE, counts, csv_text, shares_of

__all__ = ["answers", "errors", "rows_of", "write_csv", "write_parquet"]


def write_csv(folder: Path, n: int, *, first: int = 0, seconds: float = 20) -> None:
    """n recordings in two folders."""
    for i in range(first, first + n):
        home = folder / ("even" if i % 2 == 0 else "odd")
        home.mkdir(parents=True, exist_ok=True)
        (home / f"r{i:04d}.csv").write_text(csv_text(rows_of(i, seconds)))


def rows_of(seed: int, seconds: float = 20) -> np.ndarray:
    return counts(shares_of("almond_50_clove_50" if seed % 2 else "mint"), seed, seconds=seconds)


def write_parquet(path: Path, readings: np.ndarray, *, groups: int = 4, rate: float = RATE, **more) -> Path:
    """One long recording in several row groups."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"time_s": np.arange(len(readings)) / rate} | dict(zip(CHANNELS, readings.T, strict=True)) | more
    parquet.write_table(pa.table(table), path, row_group_size=-(-len(readings) // groups))
    return path


def answers(out: Path) -> list[dict]:
    """All rows of the output, in a fixed order: by file, recording and time."""
    table = parquet.read_table(out / "windows")
    return sorted(table.to_pylist(), key=lambda row: (row["file"], row["recording"], row["start_s"]))


def errors(out: Path) -> list[dict]:
    return parquet.read_table(out / "errors.parquet").to_pylist()

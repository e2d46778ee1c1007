"""Numbers out of Arrow tables, without the detour by which `to_numpy` imports pandas."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

__all__ = ["columns_of"]


def columns_of(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """Columns as float64, shape (rows, names), column after column in memory; NaN where a value is null.

    Raises `pa.ArrowException` if a column holds no numbers.
    """
    columns = np.empty((len(names), table.num_rows))
    for name, out in zip(names, columns, strict=True):
        _copy(table.column(name), out)
    return columns.T


def _copy(column: pa.ChunkedArray, out: np.ndarray) -> None:
    if column.type != pa.float64():
        column = column.cast(pa.float64())
    if column.null_count:
        column = column.fill_null(float("nan"))
    at = 0
    for chunk in column.chunks:
        values = np.frombuffer(chunk.buffers()[1], np.float64)
        out[at : at + len(chunk)] = values[chunk.offset : chunk.offset + len(chunk)]
        at += len(chunk)

"""Numbers out of Arrow tables."""

import numpy as np
import pyarrow as pa
import pytest

from unmixnet.recordings.formats.arrow_columns import columns_of


def test_numbers_of_every_kind_become_floats_and_null_becomes_nan():
    table = pa.table({"f": [1.5, None, 3.0], "i": [1, 2, 3], "b": [True, False, None]})
    expected = [[1.5, 1.0, 1.0], [np.nan, 2.0, 0.0], [3.0, 3.0, np.nan]]
    np.testing.assert_array_equal(columns_of(table, ["f", "i", "b"]), expected)


@pytest.mark.parametrize("sizes", [[5], [1, 4], [2, 0, 3]])
def test_chunks_and_slices_change_nothing(sizes: list[int]):
    parts = [pa.table({"f": np.arange(float(size))}) for size in sizes]
    table = pa.concat_tables(parts).slice(1, 3)
    np.testing.assert_array_equal(columns_of(table, ["f"])[:, 0], np.concatenate([np.arange(s) for s in sizes])[1:4])


def test_words_are_no_numbers():
    with pytest.raises(pa.ArrowInvalid):
        columns_of(pa.table({"w": ["a", "b"]}), ["w"])

"""Files in bounded blocks: what is sound is read, what is damaged is told with its place."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.inference.bundle.tiny import CHANNELS, csv_text
from unmixnet.inference.archive import blocks
from unmixnet.inference.archive.blocks import RowBlock, blocks_of
from unmixnet.inference.archive.inputs import ErrorRow

from .archives import rows_of, write_parquet


def read(path) -> list[RowBlock | ErrorRow]:
    return list(blocks_of(path, "f", CHANNELS))


def test_a_table_is_read_a_row_group_at_a_time(tmp_path):
    path = write_parquet(tmp_path / "long.parquet", rows_of(1, 40), groups=4)
    found = read(path)
    assert [len(block.rows) for block in found] == [50] * 4 and [b.line for b in found] == [1, 51, 101, 151]
    np.testing.assert_array_equal(np.concatenate([b.rows.readings for b in found]), rows_of(1, 40))


def test_a_damaged_row_group_is_told_and_the_others_are_read(tmp_path):
    rng = np.random.default_rng(0)
    path = write_parquet(tmp_path / "long.parquet", rng.normal(500, 50, (4000, 3)), groups=4)
    meta = parquet.ParquetFile(path).metadata.row_group(1).column(1)
    bent = bytearray(path.read_bytes())
    start = meta.dictionary_page_offset or meta.data_page_offset
    bent[start : start + 400] = b"\xff" * 400
    path.write_bytes(bytes(bent))
    found = read(path)
    assert [isinstance(one, ErrorRow) for one in found] == [False, True, False, False]
    assert found[1].line == 1001 and "row group 2 of 4 cannot be read" in found[1].reason


def test_recordings_of_one_table_are_kept_apart(tmp_path):
    names = ["a"] * 60 + ["b"] * 140
    found = read(write_parquet(tmp_path / "two.parquet", rows_of(1, 40), groups=2, recording=names))
    assert [(block.name, len(block.rows)) for block in found] == [("a", 60), ("b", 40), ("b", 100)]


def test_times_may_be_dates(tmp_path):
    moments = pa.array(np.arange(200) * 200_000_000 + 1_700_000_000_000_000_000, pa.timestamp("ns"))
    table = pa.table({"timestamp": moments} | dict(zip(CHANNELS, rows_of(1, 40).T, strict=True)))
    parquet.write_table(table, tmp_path / "dated.parquet")
    (block,) = read(tmp_path / "dated.parquet")
    assert block.rows.time_s[0] == 1.7e9 and abs(block.rows.sample_rate_Hz - 5) < 1e-3


def test_error_values_of_firmware_are_no_readings(tmp_path):
    readings = rows_of(1, 40)
    readings[3, 1] = 4294967295
    block = read(write_parquet(tmp_path / "t.parquet", readings, groups=1))[0]
    assert np.isnan(block.rows.readings[3, 1]) and np.isnan(block.rows.readings).sum() == 1


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", None, "0 bytes"),
        (b"PAR1 and nothing else", None, "expected a Parquet table"),
        (csv_text(rows_of(1)).replace("CO", "H2S").encode(), None, "there is no channel CO"),
        (csv_text(rows_of(1)).replace("\n0.6,", "\n0.6,?").encode(), 5, "bad-number"),
        (csv_text(rows_of(1)).replace("\n0.6,", "\n0.1,").encode(), 5, "time-backwards"),
    ],
    ids=["empty", "table", "channel", "number", "clock"],
)
def test_a_file_that_cannot_be_read_is_told_with_its_line(tmp_path, content, line, reason):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    (told,) = read(path)
    assert isinstance(told, ErrorRow) and told.line == line and reason in told.reason
    assert str(tmp_path) not in told.reason


def test_a_text_that_would_not_fit_in_memory_is_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "MOST_TEXT_BYTES", 1000)
    (tmp_path / "year.csv").write_text(csv_text(rows_of(1)))
    (told,) = read(tmp_path / "year.csv")
    assert "Split the file, or write it as Parquet" in told.reason

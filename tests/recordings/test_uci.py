"""UCI 322 text: the numbers of pandas, the place of every defect, nothing lost before a cut."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats.uci_text import UciStream
from unmixnet.recordings.reader import ReadError, read_recording

from .valid_text import UCI_HEADER, uci

ROWS = 3000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ethylene_CO.txt"
    path.write_text(uci(ROWS))
    return path


def test_every_number_is_the_one_that_pandas_reads(path: Path):
    recording = read_recording(path)
    table = pd.read_csv(path, sep=r"\s+", skiprows=1, header=None).to_numpy()
    np.testing.assert_array_equal(recording.time_s, table[:, 0])
    np.testing.assert_array_equal(recording.exposure_ppm, table[:, 1:3])
    np.testing.assert_array_equal(recording.readings, table[:, 3:])
    assert recording.gases == ("CO", "ethylene")
    assert recording.channels[0] == "s01" and recording.units == ("25 nS",) * 16
    assert recording.sample_rate_Hz == pytest.approx(100.0)


@pytest.mark.parametrize("block_bytes", [300, 1000, 4096, 10**7])
def test_the_size_of_blocks_changes_nothing(path: Path, block_bytes: int):
    readings = np.concatenate([block.readings for block in UciStream(path, block_bytes)])
    np.testing.assert_array_equal(readings, read_recording(path).readings)


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("  ", "\t"),
        lambda text: text.replace("\n", "   \n"),
        lambda text: text.replace("\n", "\n      ").rstrip(" "),
        lambda text: text.replace("   ", " "),
    ],
    ids=["CRLF", "tabs", "trailing blanks", "leading blanks", "single blanks"],
)
def test_white_space_changes_nothing(path: Path, tmp_path: Path, dress):
    other = tmp_path / "other.txt"
    other.write_bytes(dress(path.read_text()).encode())
    np.testing.assert_array_equal(read_recording(other).readings, read_recording(path).readings)


@pytest.mark.parametrize("lost", [1, 5, 30, 77, 2000])
def test_a_truncated_file_loses_nothing_before_the_cut_and_says_where_it_is(path: Path, tmp_path: Path, lost: int):
    whole = read_recording(path)
    cut = tmp_path / "cut.txt"
    cut.write_bytes(path.read_bytes()[:-lost])
    complete = cut.read_bytes().count(b"\n") - 1
    recording = read_recording(cut)
    np.testing.assert_array_equal(recording.readings, whole.readings[:complete])
    finding = recording.found(Code.CUT_LINE)[0]
    assert finding.line == complete + 2
    assert f"line {complete + 2}" in finding.message and f"{complete:,} rows" in finding.message


def edited(path: Path, line: int, edit) -> Path:
    lines = path.read_text().split("\n")
    lines[line - 1] = edit(lines[line - 1])
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("edit", "code", "column"),
    [
        (lambda line: line + " 7.0", Code.RAGGED_ROW, 20),
        (lambda line: line.rsplit(" ", 1)[0], Code.RAGGED_ROW, 19),
        (lambda line: line.replace(".", ",", 1), Code.BAD_NUMBER, 1),
        (lambda line: line[:-2] + "x1", Code.BAD_NUMBER, 19),
        (lambda line: line[:20] + "\0" + line[20:], Code.NUL_BYTES, None),
        (lambda line: "0.00" + line[5:], Code.TIME_BACKWARDS, 1),
        (lambda line: "nan" + line[5:], Code.TIME_UNREADABLE, 1),
        (lambda line: UCI_HEADER, Code.RAGGED_ROW, None),
    ],
)
def test_a_defect_is_refused_at_its_line(path: Path, edit, code: Code, column):
    with pytest.raises(ReadError) as caught:
        read_recording(edited(path, 1777, edit))
    assert (caught.value.code, caught.value.line) == (code, 1777)
    assert column is None or caught.value.column == column


def test_absent_and_non_positive_readings_are_kept_and_counted(path: Path):
    edited(path, 100, lambda line: " ".join([*line.split()[:-2], "nan", "-5.00"]))
    recording = read_recording(path)
    assert np.isnan(recording.readings[98]).sum() == 1
    assert recording.found(Code.NOT_A_READING)[0].count == 1
    assert recording.found(Code.NON_POSITIVE)[0].count >= 1


@pytest.mark.parametrize("rest", ["", "\n\n", "0.00 1"])
def test_a_header_without_rows_is_refused(tmp_path: Path, rest: str):
    path = tmp_path / "empty.txt"
    path.write_text(UCI_HEADER + "\n" + rest)
    with pytest.raises(ReadError) as caught:
        read_recording(path)
    assert caught.value.code is Code.NO_ROWS


def test_a_file_without_line_ends_is_refused_before_it_fills_memory(tmp_path: Path):
    path = tmp_path / "endless.txt"
    path.write_text(UCI_HEADER + "\n" + "1.0 " * 5000)
    with pytest.raises(ReadError) as caught:
        list(UciStream(path, block_bytes=1000))
    assert caught.value.code is Code.NOT_TEXT


def test_the_real_excerpts_are_read_with_their_gases(data_folder: Path):
    folder = data_folder / "uci322"
    co = read_recording(folder / "ethylene_co_s01_100hz.parquet")
    assert co.gases == ("CO", "ethylene") and co.channels == ("s01",) and len(co) == 100_000
    digitised = read_recording(folder / "ethylene_methane_digitised_1_25hz.parquet")
    assert digitised.gases == ("methane", "ethylene")
    assert digitised.sample_rate_Hz == pytest.approx(1.25, rel=0.01)


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-100], lambda raw: raw[:4] + bytes(200) + raw[204:], lambda raw: b"PAR1"]
)
def test_a_damaged_parquet_table_is_refused(path: Path, tmp_path: Path, damage):
    table = tmp_path / "t.parquet"
    pd.DataFrame({"time_s": [0.0, 1.0], "co_ppm": [0.0, 0.0], "s01": [1.0, 2.0]}).to_parquet(table)
    assert read_recording(table).channels == ("s01",)
    table.write_bytes(damage(table.read_bytes()))
    with pytest.raises(ReadError) as caught:
        read_recording(table)
    assert caught.value.code is Code.BAD_TABLE


@pytest.mark.soak
def test_two_million_rows_are_read_no_slower_than_pandas_in_under_a_gigabyte(tmp_path: Path):
    from studies.bench.reader import measure
    from studies.tables import __main__ as tables
    from studies.tables.markdown import store

    rows = 2_000_000
    results = measure(rows, tmp_path)
    store("reader", f"python -m studies.bench.reader {rows}", results)
    tables.main()
    assert results["pandas_over_ours"] >= 1.0
    assert results["peak_MB"]["ours"] < 1000
    assert results["peak_MB"]["cache_10Hz"] < 400, "caching streams: its memory must not grow with the file"
    assert results["text_over_cache_10Hz"] >= 10

"""Plain CSV and its sidecar: units, rate, device, label, and errors that name the nearest key."""

from pathlib import Path

import numpy as np
import pytest

from unmixnet.recordings.codes import ChannelHealth, Code
from unmixnet.recordings.reader import ReadError, read_recording

ROWS = "".join(f"{i},{300 + i * 7 % 13},{20 + i % 5}.5\n" for i in range(40))


def write(folder: Path, header: str, rows: str = ROWS, sidecar: str | None = None) -> Path:
    path = folder / "run.csv"
    path.write_text(f"{header}\n{rows}", encoding="utf-8")
    if sidecar is not None:
        (folder / "run.toml").write_text(sidecar, encoding="utf-8")
    return path


def test_units_in_brackets_are_read_and_spelled_in_one_way(tmp_path: Path):
    recording = read_recording(write(tmp_path, "time [s],CO [counts],T (°C)"))
    assert recording.channels == ("CO", "T")
    assert recording.units == ("counts", "degC")
    assert recording.warnings == ()
    assert recording.sample_rate_Hz == pytest.approx(1.0)


def test_a_column_in_a_unit_of_time_is_the_time_in_any_language(tmp_path: Path):
    recording = read_recording(write(tmp_path, "Zeit [ms],CO [counts],T (°C)"))
    assert recording.channels == ("CO", "T") and recording.sample_rate_Hz == pytest.approx(1000.0)


def test_columns_parted_by_blanks_are_refused_with_the_right_advice(tmp_path: Path):
    with pytest.raises(ReadError, match="Part the columns by commas"):
        read_recording(write(tmp_path, "t NO2 CO", "0 1 2\n1 2 3\n"))


def test_a_format_that_does_not_fit_is_refused_and_drops_no_column(tmp_path: Path):
    with pytest.raises(ReadError) as caught:
        read_recording(write(tmp_path, "time_s,CO,X"), format="smellnet-mixture")
    assert caught.value.code is Code.UNKNOWN_FORMAT and "CO, X" in caught.value.seen


def test_without_units_the_health_says_so(tmp_path: Path):
    recording = read_recording(write(tmp_path, "time_s,CO,X"))
    assert recording.health == (ChannelHealth.UNIT_UNKNOWN,) * 2


def test_a_sidecar_states_units_device_rate_and_label(tmp_path: Path):
    sidecar = """
        rate_Hz = 4.0
        device = "nose 7"
        label = { almond = 60, clove = 20 }
        sentinels = [-1]
        [units]
        A = "counts"
        B = "kOhm"
        C = "degC"
        [full_scale]
        A = 4095
    """
    recording = read_recording(write(tmp_path, "A,B,C", sidecar=sidecar))
    assert recording.units == ("counts", "kOhm", "degC")
    assert recording.device == "nose 7"
    assert recording.sample_rate_Hz == 4.0
    assert recording.label is not None and recording.label.ratios == pytest.approx([0.75, 0.25])
    assert [finding.code for finding in recording.warnings] == [Code.RATIO_SUM], "80 parts are not silently 100"


def test_a_sidecar_of_the_folder_speaks_for_files_without_their_own(tmp_path: Path):
    (tmp_path / "recordings.toml").write_text('device = "shared"\nrate_Hz = 2\n')
    assert read_recording(write(tmp_path, "A [counts],B [counts],C [counts]")).device == "shared"
    (tmp_path / "run.toml").write_text('device = "own"\nrate_Hz = 2\n')
    assert read_recording(tmp_path / "run.csv").device == "own"


@pytest.mark.parametrize(
    ("sidecar", "named"),
    [
        ("rate_hz = 1", "rate_Hz"),
        ("rate_Hz = 0", "positive"),
        ("rate_Hz = '1'", "number"),
        ("rate_Hz = true", "number"),
        ("device = 7", "text"),
        ("label = 'almond50_50'", "recipe"),
        ("label = { almond = 0 }", "normalised"),
        ("units = 'counts'", "table"),
        ("[units]\nCOO = 'counts'", "CO"),
        ("time_column = 'zeit'", "columns"),
        ("time_unit = 'h'", "ms"),
        ("sentinels = 5", "list"),
        ("this is not TOML", "TOML"),
    ],
)
def test_a_sidecar_that_is_not_understood_is_refused_with_a_hint(sidecar: str, named: str, tmp_path: Path):
    with pytest.raises(ReadError, match=named) as caught:
        read_recording(write(tmp_path, "time_s,CO,X", sidecar=sidecar))
    assert caught.value.code is Code.BAD_SIDECAR


def test_dates_become_seconds_from_the_first_row(tmp_path: Path):
    rows = "2024-05-01T12:00:00,1,2\n2024-05-01T12:00:01,2,3\n2024-05-01 12:00:02.500,3,4\n"
    recording = read_recording(write(tmp_path, "time,CO [counts],X [counts]", rows))
    np.testing.assert_allclose(recording.time_s, [0.0, 1.0, 2.5])
    assert not recording.found(Code.TIME_UNIT_ASSUMED)


def test_a_date_that_is_none_is_refused_at_its_place(tmp_path: Path):
    rows = "2024-05-01T12:00:00,1,2\n2024-13-01T12:00:01,2,3\n"
    with pytest.raises(ReadError) as caught:
        read_recording(write(tmp_path, "time,CO [counts],X [counts]", rows))
    assert (caught.value.code, caught.value.line, caught.value.column) == (Code.TIME_UNREADABLE, 3, 1)


def test_a_time_without_unit_is_taken_as_seconds_aloud(tmp_path: Path):
    assert read_recording(write(tmp_path, "time,CO [counts],X [counts]")).found(Code.TIME_UNIT_ASSUMED)


def test_milliseconds_since_1970_are_a_time(tmp_path: Path):
    rows = "".join(f"{1714564800000 + 500 * i},{i},{i}\n" for i in range(30))
    assert read_recording(write(tmp_path, "timestamp_ms,A [counts],B [counts]", rows)).sample_rate_Hz == pytest.approx(
        2
    )


def test_a_file_of_bare_numbers_is_refused_for_want_of_names(tmp_path: Path):
    with pytest.raises(ReadError) as caught:
        read_recording(write(tmp_path, "1,2,3"))
    assert caught.value.code is Code.NO_HEADER


def test_an_unnamed_column_is_refused_by_its_number(tmp_path: Path):
    with pytest.raises(ReadError) as caught:
        read_recording(write(tmp_path, ",CO,X"))
    assert (caught.value.code, caught.value.column) == (Code.NO_HEADER, 1)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_all_separators_give_the_same_numbers(separator: str, tmp_path: Path):
    plain = read_recording(write(tmp_path, "time_s,CO [counts],X [counts]"))
    other = tmp_path / "other.csv"
    other.write_text(f"time_s,CO [counts],X [counts]\n{ROWS}".replace(",", separator))
    np.testing.assert_array_equal(read_recording(other).readings, plain.readings)


def test_quotes_around_numbers_and_names_change_nothing(tmp_path: Path):
    plain = read_recording(write(tmp_path, "time_s,CO [counts],X [counts]"))
    other = tmp_path / "other.csv"
    lines = f"time_s,CO [counts],X [counts]\n{ROWS}".splitlines()
    other.write_text("".join(",".join(f'"{field}"' for field in line.split(",")) + "\n" for line in lines))
    np.testing.assert_array_equal(read_recording(other).readings, plain.readings)
    assert read_recording(other).channels == plain.channels

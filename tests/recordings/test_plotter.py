"""Plotter lines."""

from pathlib import Path

import numpy as np
import pytest

from unmixnet.recordings.codes import Code
from unmixnet.recordings.reader import ReadError, read_recording


def read(folder: Path, text: str):
    path = folder / "log.txt"
    path.write_text(text)
    return read_recording(path)


@pytest.mark.parametrize("joint", [",", "\t", ", ", " ", ";"])
def test_all_ways_to_part_the_pairs_give_the_same_readings(joint: str, tmp_path: Path):
    recording = read(tmp_path, "".join(f"NO2:{i}{joint}CO:{2 * i}\n" for i in range(30)))
    assert recording.channels == ("NO2", "CO")
    np.testing.assert_array_equal(recording.readings, [[i, 2 * i] for i in range(30)])


def test_misspelt_channels_are_mended(tmp_path: Path):
    assert read(tmp_path, "C2H5CH:5,CO:7\n" * 5).channels == ("C2H5OH", "CO")


def test_a_time_among_the_pairs_is_the_time(tmp_path: Path):
    recording = read(tmp_path, "".join(f"millis:{250 * i},CO:{i}\n" for i in range(30)))
    assert recording.channels == ("CO",)
    assert recording.sample_rate_Hz == pytest.approx(4.0)


def test_the_time_stamps_of_the_serial_monitor_are_the_time(tmp_path: Path):
    recording = read(tmp_path, "".join(f"12:00:{i / 4:06.3f} -> CO:{i},NO2:7\n" for i in range(30)))
    assert recording.channels == ("CO", "NO2")
    np.testing.assert_allclose(np.diff(recording.time_s), 0.25)


def test_boot_text_is_counted_and_every_reading_kept(tmp_path: Path):
    recording = read(tmp_path, "Booting...\nReady\n" + "CO:1,NO2:2\n" * 10 + "Brownout!\n" + "CO:3,NO2:4\n" * 10)
    assert len(recording) == 20
    assert recording.found(Code.BOOT_TEXT)[0].count == 3


def test_a_line_with_a_channel_missing_is_refused_by_its_number(tmp_path: Path):
    with pytest.raises(ReadError) as caught:
        read(tmp_path, "CO:1,NO2:2\n" * 3 + "CO:1\n" + "CO:1,NO2:2\n")
    assert (caught.value.code, caught.value.line) == (Code.RAGGED_ROW, 4)


def test_a_single_line_is_a_recording_of_one_row(tmp_path: Path):
    assert read(tmp_path, "NO2:27,CO:31\n").readings.tolist() == [[27.0, 31.0]]


def test_one_channel_is_enough(tmp_path: Path):
    assert read(tmp_path, "CO:1\nCO:2\n").readings.shape == (2, 1)

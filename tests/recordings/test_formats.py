"""Every registered format is read by `read_recording`, and therefore by every command."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_check import run
from unmixnet.live.sources.replay import ReplaySource
from unmixnet.recordings.audit import audit_folder
from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.formats.osmell import osmell_bytes, read_osmell
from unmixnet.recordings.inspection import check_files, expand
from unmixnet.recordings.pieces import Piece, read_pieces
from unmixnet.recordings.reader import FORMATS, RECORDING_SUFFIXES, read_recording
from unmixnet.recordings.recording import Recording

from .valid_text import base, mixture, text

UCI = "Time (seconds), CO conc (ppm), Ethylene conc (ppm), sensor readings (16 channels)\n" + "".join(
    f"{0.01 * i:.2f} {i // 10}.0 0.0 " + " ".join(f"{1000 + 10 * m + (i * 7 + m) % 13}.5" for m in range(16)) + "\n"
    for i in range(50)
)
PLATEAUS = "t_start_s,dur_s,methane_ppm,ethylene_ppm,s01,s02\n" + "".join(
    f"{i * i * 10},{20 * i + 10},{i},{2 * i},{100 + i},{200 - i}\n" for i in range(25)
)
PLAIN = "time_s,NO2 [counts],CO [counts]\n" + "".join(f"{i},{300 + i % 7},{400 + i % 5}\n" for i in range(30))
PLOTTER = "".join(f"NO2:{300 + i % 7},CO:{400 + i % 5}\n" for i in range(30))


@pytest.fixture
def samples(tmp_path: Path) -> dict[str, Path]:
    """One file of each format, all under the same uninformative suffix."""
    folder = tmp_path / "samples"
    folder.mkdir()
    (folder / "almond_50_clove_50.bin").write_bytes(text(mixture(40)))
    made = {"smellnet-mixture": folder / "almond_50_clove_50.bin"}
    for name, content in {"uci-text": UCI, "uci-plateaus": PLATEAUS, "plain-csv": PLAIN, "plotter": PLOTTER}.items():
        made[name] = folder / f"{name}.bin"
        made[name].write_text(content)
    made["osmell"] = folder / "osmell.bin"
    made["osmell"].write_bytes(osmell_bytes(read_recording(made["smellnet-mixture"])))
    return made


def test_each_format_is_recognised_by_content_alone(samples):
    for name, path in samples.items():
        recognised = read_recording(path)
        np.testing.assert_array_equal(recognised.readings, read_recording(path, format=name).readings, err_msg=name)
    assert read_recording(samples["osmell"]).device == "SmellNet mixture (Grove)"
    assert read_recording(samples["uci-text"]).gases == ("CO", "ethylene")
    assert read_recording(samples["plotter"]).channels == read_recording(samples["plain-csv"]).channels


def test_the_registry_names_each_format_once_and_its_endings():
    names = [known.name for known in FORMATS]
    assert len(set(names)) == len(names)
    assert set(RECORDING_SUFFIXES) == {".csv", ".txt", ".tsv", ".log", ".parquet", ".osmell"}


def test_an_osmell_file_is_the_recording_that_was_written(samples):
    known, again = read_recording(samples["smellnet-mixture"]), read_recording(samples["osmell"], place="day1/a.osmell")
    np.testing.assert_array_equal(again.readings, known.readings)
    np.testing.assert_allclose(again.time_s, known.time_s, atol=1e-9)
    assert (again.channels, again.units, again.label) == (known.channels, known.units, known.label)
    assert again.path == "day1/a.osmell"


def test_plateaus_are_one_row_per_set_point(samples):
    recording = read_recording(samples["uci-plateaus"])
    assert recording.channels == ("s01", "s02") and recording.gases == ("methane", "ethylene")
    assert recording.time_s[3] == 90 and recording.exposure_ppm is not None
    np.testing.assert_array_equal(recording.exposure_ppm[3], [3, 6])
    assert np.isfinite(recording.sample_rate_Hz)


def test_a_damaged_osmell_file_is_refused_with_a_code_and_its_name(samples, tmp_path: Path):
    raw = samples["osmell"].read_bytes()
    cut = tmp_path / "cut.osmell"
    cut.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(ReadError, match=r"cut\.osmell.*ZIP") as caught:
        read_recording(cut, place="elsewhere")
    assert caught.value.code is Code.BAD_OSMELL


def test_another_zip_file_is_still_called_one(tmp_path: Path):
    (tmp_path / "book.osmell").write_bytes(b"PK\x03\x04" + b"\0" * 26 + b"[Content_Types].xml")
    with pytest.raises(ReadError, match="zip archive or Excel") as caught:
        read_recording(tmp_path / "book.osmell")
    assert caught.value.code is Code.NOT_TEXT


def test_a_folder_of_osmell_and_uci_files_is_checked_like_any_other(samples, tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.osmell").write_bytes(samples["osmell"].read_bytes())
    (folder / "ethylene_CO.txt").write_text(UCI)
    (folder / "torn.osmell").write_bytes(samples["osmell"].read_bytes()[:300])
    done = run("check", str(folder), "--json")
    answer = json.loads(done.stdout)
    by_name = {Path(entry["file"]).name: entry for entry in answer["files"]}
    assert set(by_name) == {"a.osmell", "ethylene_CO.txt", "torn.osmell"} and done.returncode == 2
    assert by_name["a.osmell"]["recording"]["label"] == [
        {"name": "almond", "ratio": 0.5},
        {"name": "clove", "ratio": 0.5},
    ]
    assert by_name["ethylene_CO.txt"]["recording"]["gases"] == ["CO", "ethylene"]
    assert by_name["torn.osmell"]["refusal"]["code"] == "bad-osmell"


def test_bytes_of_an_upload_are_read_as_the_file_is(samples):
    recording = read_recording(samples["smellnet-mixture"])
    np.testing.assert_array_equal(read_osmell(osmell_bytes(recording)).recording.readings, recording.readings)


NAMES = {
    "uci-parquet": "excerpt.parquet",
    "uci-text": "ethylene_CO.txt",
    "osmell": "almond.osmell",
    "plotter": "board.log",
    "smellnet-base": "almond.csv",
    "smellnet-mixture": "almond_50_clove_50.csv",
    "uci-plateaus": "plateaus.csv",
    "plain-csv": "nose.csv",
}


def write_all(folder: Path) -> None:
    """One file of every format under its usual name."""
    folder.mkdir()
    texts = {"uci-text": UCI, "uci-plateaus": PLATEAUS, "plain-csv": PLAIN, "plotter": PLOTTER}
    for name, content in texts.items():
        (folder / NAMES[name]).write_text(content)
    for name, lines in {"smellnet-base": base(600), "smellnet-mixture": mixture(600)}.items():
        (folder / NAMES[name]).write_bytes(text(lines))
    (folder / NAMES["osmell"]).write_bytes(osmell_bytes(read_recording(folder / NAMES["smellnet-mixture"])))
    names = ["time_s", "co_ppm", "ethylene_ppm", "s01", "s02"]
    columns = [np.arange(50.0), np.zeros(50), np.ones(50), 1000 + np.arange(50) % 7, 900 + np.arange(50) % 5]
    pq.write_table(pa.table(columns, names=names), folder / NAMES["uci-parquet"])


def by_check(folder: Path, name: str) -> Recording | None:
    return next(file.recording for file in check_files(expand([folder])) if Path(file.file).name == name)


def by_data_set(folder: Path, name: str) -> Recording:
    data = load_dataset("folder", folder)
    return next(recording for entry, recording in data.recordings() if entry.path == name)


def by_training(folder: Path, name: str) -> Recording:
    return read_pieces(load_dataset("folder", folder), [Piece(name)])[0]


def by_replay(folder: Path, name: str) -> Recording:
    return ReplaySource(folder / name).recording


@pytest.fixture(scope="module")
def every(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("formats") / "every"
    write_all(folder)
    return folder


def test_every_format_has_its_sample():
    assert list(NAMES) == [known.name for known in FORMATS]


@pytest.mark.parametrize("enter", [by_check, by_data_set, by_training, by_replay])
@pytest.mark.parametrize("format", [known.name for known in FORMATS])
def test_every_format_is_read_by_every_entrance(format, enter, every: Path):
    expected = read_recording(every / NAMES[format], format=format)
    recording = enter(every, NAMES[format])
    assert recording is not None and recording.channels == expected.channels
    np.testing.assert_array_equal(recording.readings, expected.readings)


def test_every_format_is_audited(every: Path):
    report = audit_folder(every)
    assert {verdict.file for verdict in report.verdicts} == set(NAMES.values()) and not report.refusals


def test_unmix_answers_an_osmell_file_as_it_answers_the_table_in_it(every: Path):
    answers = []
    for format in ("smellnet-mixture", "osmell"):
        done = run("unmix", str(every / NAMES[format]), "--json", "--model", "smellnet-mixture")
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout)["answers"][0])
    table, osmell = ({key: value for key, value in answer.items() if key != "recording"} for answer in answers)
    assert table == osmell and "error" not in table


def test_unmix_reads_uci_files_and_misses_the_channels_of_the_model(every: Path):
    done = run("unmix", str(every / NAMES["uci-text"]), "--model", "smellnet-mixture")
    assert done.returncode == 2 and "no channel" in done.stderr and "s01" in done.stderr

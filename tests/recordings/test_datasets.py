"""Named data sets and anybody's folder."""

from pathlib import Path

import pytest

from unmixnet.recordings.codes import ReadError
from unmixnet.recordings.datasets import NAMES, load_dataset
from unmixnet.recordings.formats.uci_plateaus import read_plateaus
from unmixnet.recordings.location import DataError

from .valid_text import mixture, text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i, name in enumerate(("a", "b", "sub/c")):
        path = tmp_path / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text(mixture(30 + i)))
    return tmp_path


def manifest(folder: Path, *rows: str, header: str = "file,label,session,split") -> Path:
    (folder / "manifest.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def test_the_manifest_says_label_session_and_split(folder: Path):
    manifest(folder, "a.csv,almond20_clove80,1,train", "b.csv,2-butanone,2,test", "sub/c.csv,,,")
    dataset = load_dataset("folder", folder)
    assert dataset.splits == ("train", "test", "all")
    assert dataset.components == ("2-butanone", "almond", "clove")
    assert [entry.session for entry in dataset.entries] == ["1", "2", None]
    ((entry, recording),) = dataset.recordings("test")
    assert recording.label == entry.label and recording.path == "b.csv" and len(recording) == 31


def test_without_a_manifest_every_recording_is_listed(folder: Path):
    dataset = load_dataset("folder", folder)
    assert [entry.path for entry in dataset.entries] == ["a.csv", "b.csv", "sub/c.csv"]


@pytest.mark.parametrize(
    ("rows", "line", "named"),
    [
        (["nope.csv,almond,1,train"], 2, "nope.csv"),
        (["a.csv,almond,1,train", "a.csv,clove,1,test"], 3, "twice"),
        (["a.csv,almond50_50,1,train"], 2, "recipe"),
        (["a.csv,almond"], 2, "fields"),
        (["../a.csv,almond,1,train"], 2, "inside"),
        ([], 1, "no row"),
    ],
)
def test_a_manifest_that_is_wrong_is_refused_at_its_line(folder: Path, rows: list[str], line: int, named: str):
    with pytest.raises(DataError, match=named) as caught:
        load_dataset("folder", manifest(folder, *rows))
    assert f"line {line}" in caught.value.where


@pytest.mark.parametrize(("header", "hint"), [("fille,label", "file"), ("label,split", "file")])
def test_a_manifest_with_other_columns_names_the_right_ones(folder: Path, header: str, hint: str):
    with pytest.raises(DataError, match=hint):
        load_dataset("folder", manifest(folder, "a.csv,almond", header=header))


def test_an_unknown_data_set_or_split_lists_the_known_ones(folder: Path):
    with pytest.raises(DataError, match="smellnet-mixture"):
        load_dataset("smelnet")
    with pytest.raises(DataError, match="all"):
        load_dataset("folder", folder).of("train")


@pytest.mark.parametrize("name", ["smellnet-base", "smellnet-mixture", "uci-dynamic", "uci-plateaus"])
def test_a_data_set_that_is_not_here_says_how_to_get_it(name: str, tmp_path: Path):
    with pytest.raises(DataError, match="unmixnet data fetch"):
        load_dataset(name, tmp_path)


def test_a_data_folder_that_does_not_exist_says_how_to_name_one(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("UNMIXNET_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match="UNMIXNET_DATA"):
        load_dataset("smellnet-base")


def test_all_eight_names_are_registered():
    assert set(NAMES) == {
        "smellnet-base",
        "smellnet-mixture",
        "uci-dynamic",
        "uci-plateaus",
        "simulated",
        "simulated-8",
        "high-coupling",
        "folder",
    }


def test_smellnet_base_has_fifty_substances_five_to_one(data_folder: Path):
    dataset = load_dataset("smellnet-base", data_folder)
    training, testing = dataset.of("training"), dataset.of("testing")
    assert (len(training), len(testing)) == (250, 50)
    assert {entry.label.names[0] for entry in testing if entry.label} == set(dataset.components)


def test_smellnet_mixture_has_its_four_folders_as_splits_and_every_file_a_label(data_folder: Path):
    dataset = load_dataset("smellnet-mixture", data_folder)
    counts = [len(dataset.of(split)) for split in ("training_new", "training_seen", "test_seen")]
    assert counts == [1001, 731, 247]
    assert len(dataset.of("test_unseen")) >= 106
    assert all(entry.label is not None for entry in dataset.entries)
    assert {frozenset(e.label.names) for e in dataset.of("training_seen")} <= {
        frozenset(e.label.names) for e in dataset.of("training_new")
    }


def test_smellnet_is_found_when_the_data_folder_is_its_own(smellnet: Path):
    assert len(load_dataset("smellnet-base", smellnet).entries) == 300


def test_plateaus_are_read_with_their_lengths(data_folder: Path):
    plateaus = read_plateaus(data_folder / "uci322" / "ethylene_methane_plateaus.csv")
    assert len(plateaus) == 244
    assert plateaus.gases == ("methane", "ethylene") and len(plateaus.sensors) == 16
    assert 0 < len(plateaus.lasting(30.0)) <= 244
    assert plateaus.lasting(30.0).duration_s.min() >= 30.0
    ((_, recording),) = load_dataset("uci-plateaus", data_folder).recordings()
    assert recording.readings.shape == (244, 16)


def test_a_table_that_holds_no_plateaus_is_refused(folder: Path):
    with pytest.raises(ReadError):
        read_plateaus(folder / "a.csv")
    with pytest.raises(ReadError):
        read_plateaus(folder / "none.csv")

"""Data sets from a stand-in for their public homes."""

import io
import zipfile
from pathlib import Path

import pytest

from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.download import FetchError
from unmixnet.recordings.fetch import fetch

from .server import Home, serving
from .valid_text import mixture, text, uci

ARCHIVE = "/static/public/322/gas+sensor+array+under+dynamic+gas+mixtures.zip"


@pytest.fixture
def home():
    with serving(Home()) as home:
        yield home


def offer_mixtures(home: Home, count: int = 6) -> None:
    for i in range(count):
        home.offer(
            f"mixture_data/training_new/almond_50_clove_50.61aaaaa{i}.x.csv",
            text(mixture(20 + i)),
            lfs=i % 2 == 0,
        )
    home.offer("base_data/training/almond/almond.0.csv", text(mixture()))
    home.offer("README.md", b"# SmellNet\n")


def test_a_data_set_is_fetched_file_by_file_and_can_be_loaded(home: Home, tmp_path: Path):
    offer_mixtures(home)
    arrived: list[int] = []
    report = fetch("smellnet-mixture", tmp_path, mirror=home.url, progress=lambda count, _: arrived.append(count))
    assert (report.fetched, report.already_there) == (6, 0)
    assert sum(arrived) == report.total_bytes
    assert not (tmp_path / "smellnet" / "base_data").exists()
    dataset = load_dataset("smellnet-mixture", tmp_path)
    assert sum(len(recording) for _, recording in dataset.recordings("training_new")) == sum(range(20, 26))


def test_what_is_there_and_sound_is_not_fetched_again(home: Home, tmp_path: Path):
    offer_mixtures(home)
    fetch("smellnet-mixture", tmp_path, mirror=home.url)
    damaged = next((tmp_path / "smellnet" / "mixture_data").rglob("*2.x.csv"))
    damaged.write_bytes(damaged.read_bytes().replace(b"0", b"1"))
    report = fetch("smellnet-mixture", tmp_path, mirror=home.url)
    assert (report.fetched, report.already_there) == (1, 5)


def test_a_listing_of_many_pages_is_followed_to_its_end(home: Home, tmp_path: Path):
    offer_mixtures(home, 9)
    home.page_size = 4
    assert fetch("smellnet-mixture", tmp_path, mirror=home.url).fetched == 9


def test_a_path_that_leaves_the_folder_is_never_written(home: Home, tmp_path: Path):
    offer_mixtures(home, 1)
    home.offer("mixture_data/../../evil.csv", b"x")
    fetch("smellnet-mixture", tmp_path / "inside", mirror=home.url)
    assert not list(tmp_path.rglob("evil.csv"))


def test_one_failure_ends_the_fetch_and_the_next_continues_it(home: Home, tmp_path: Path):
    offer_mixtures(home)
    lost = next(path for path in home.files if path.endswith("3.x.csv"))
    raw = home.files.pop(lost)
    with pytest.raises(FetchError, match="404"):
        fetch("smellnet-mixture", tmp_path, mirror=home.url)
    home.files[lost] = raw
    report = fetch("smellnet-mixture", tmp_path, mirror=home.url)
    assert report.fetched + report.already_there == 6 and report.fetched >= 1


@pytest.mark.parametrize("listing", [[], [{"type": "file"}], ["x"]])
def test_a_listing_that_makes_no_sense_is_our_own_error(home: Home, tmp_path: Path, listing: list):
    home.listing = listing
    with pytest.raises(FetchError):
        fetch("smellnet-base", tmp_path, mirror=home.url)


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".txt", content)
    return buffer.getvalue()


def test_the_uci_archive_is_unpacked_and_read_through_its_cache(home: Home, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("UNMIXNET_CACHE", str(tmp_path / "cache"))
    home.files[ARCHIVE] = zipped(data__ethylene_CO=uci(300), data__ethylene_methane=uci(200, seed=1))
    report = fetch("uci-dynamic", tmp_path, mirror=home.url)
    assert report.fetched == 2
    assert not list((tmp_path / "uci322").glob("*.zip"))
    dataset = load_dataset("uci-dynamic", tmp_path)
    assert [len(recording) for _, recording in dataset.recordings("full")] == [30, 20]
    assert fetch("uci-dynamic", tmp_path, mirror=home.url).already_there == 2


def locked(raw: bytes) -> bytes:
    """One bit of every header set: its members count as encrypted."""
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw = mark.join(
            part if i == 0 else part[: place - 4] + b"\x01" + part[place - 3 :]
            for i, part in enumerate(raw.split(mark))
        )
    return raw


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-30], lambda raw: raw[:60] + b"\xff" * 9 + raw[69:], lambda _: b"<html>", locked]
)
def test_a_damaged_archive_is_discarded(home: Home, tmp_path: Path, damage):
    home.files[ARCHIVE] = damage(zipped(ethylene_CO=uci(30), ethylene_methane=uci(20)))
    with pytest.raises(FetchError, match="unpacked"):
        fetch("uci-dynamic", tmp_path, mirror=home.url)
    assert not list((tmp_path / "uci322").glob("*.zip"))
    assert not list((tmp_path / "uci322").glob("ethylene_methane.txt"))


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path):
    with pytest.raises(FetchError, match="smellnet-base, smellnet-mixture, uci-dynamic"):
        fetch("smelnet", tmp_path)


def test_fetching_uci_from_the_command_line_leaves_its_cache_ready(home: Home, tmp_path: Path):
    import os
    import subprocess
    import sys

    from tests.cli.commands import json_object

    home.files[ARCHIVE] = zipped(ethylene_CO=uci(300), ethylene_methane=uci(200, seed=1))
    environment = os.environ | {"UNMIXNET_CACHE": str(tmp_path / "cache")}
    command = ["data", "fetch", "uci-dynamic", "--to", str(tmp_path), "--mirror", home.url, "--json"]
    done = subprocess.run([sys.executable, "-m", "unmixnet", *command], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert json_object(done.stdout)["fetched"] == 2
    assert len(list((tmp_path / "cache").rglob("*.parquet"))) == 4

"""One file from a server: whole, checked, continued where it stopped."""

import hashlib
from pathlib import Path

import pytest

from unmixnet.recordings.download import FetchError, RemoteFile, download, is_complete

from .server import Home, serving

RAW = bytes(range(256)) * 4000
SHA = hashlib.sha256(RAW).hexdigest()


@pytest.fixture
def home():
    with serving(Home()) as home:
        home.files["/file"] = RAW
        yield home


def remote(home: Home, **known) -> RemoteFile:
    return RemoteFile(f"{home.url}/file", "file", **known)


def test_a_file_arrives_whole_and_its_part_is_gone(home: Home, tmp_path: Path):
    arrived = []
    download(remote(home, size=len(RAW), sha256=SHA), tmp_path / "a" / "file", progress=arrived.append)
    assert (tmp_path / "a" / "file").read_bytes() == RAW
    assert sum(arrived) == len(RAW)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["file"]


def test_an_interrupted_download_continues_where_it_stopped(home: Home, tmp_path: Path):
    home.cut_once["/file"] = 100_000
    arrived = []
    download(remote(home, size=len(RAW), sha256=SHA), tmp_path / "file", progress=arrived.append, pause_s=0)
    assert (tmp_path / "file").read_bytes() == RAW
    assert sum(arrived) == len(RAW), "no byte is counted twice"
    assert [asked for _, asked in home.requests] == [None, "bytes=100000-"]


def test_a_part_of_an_earlier_run_is_continued(home: Home, tmp_path: Path):
    (tmp_path / "file.part").write_bytes(RAW[:500_000])
    download(remote(home, size=len(RAW), sha256=SHA), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == RAW
    assert home.requests == [("/file", "bytes=500000-")]


def test_a_server_that_cannot_continue_begins_again(home: Home, tmp_path: Path):
    home.ranges = False
    (tmp_path / "file.part").write_bytes(RAW[:500_000])
    download(remote(home, size=len(RAW), sha256=SHA), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == RAW


@pytest.mark.parametrize("part", [RAW, RAW + b"more"], ids=["whole", "too long"])
def test_a_part_that_is_whole_or_too_long_ends_in_the_right_file(home: Home, tmp_path: Path, part: bytes):
    (tmp_path / "file.part").write_bytes(part)
    download(remote(home, size=len(RAW), sha256=SHA), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == RAW


def test_a_part_longer_than_the_file_is_fetched_anew_when_the_size_is_not_known(home: Home, tmp_path: Path):
    (tmp_path / "file.part").write_bytes(RAW + b"more")
    download(remote(home, sha256=SHA), tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == RAW


@pytest.mark.parametrize(
    ("known", "named"),
    [
        ({"size": 7}, "bytes arrived"),
        ({"sha256": "0" * 64}, "SHA-256"),
        ({"git_sha1": "0" * 40}, "Git digest"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_discarded(home: Home, tmp_path: Path, known: dict, named: str):
    with pytest.raises(FetchError, match=named):
        download(remote(home, **known), tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_the_digest_of_git_is_recognised(home: Home, tmp_path: Path):
    git = hashlib.sha1(f"blob {len(RAW)}\0".encode() + RAW).hexdigest()
    download(remote(home, git_sha1=git), tmp_path / "file")
    assert is_complete(remote(home, size=len(RAW), git_sha1=git), tmp_path / "file")


def test_a_git_lfs_pointer_is_recognised_for_what_it_is(home: Home, tmp_path: Path):
    home.files["/file"] = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    with pytest.raises(FetchError, match="Git LFS pointer"):
        download(remote(home), tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_server_in_trouble_is_asked_again_and_a_refusal_is_not(home: Home, tmp_path: Path):
    home.answers = [503, 500]
    download(remote(home), tmp_path / "file", pause_s=0)
    assert len(home.requests) == 3
    home.requests.clear()
    home.answers = [403]
    with pytest.raises(FetchError, match="403"):
        download(remote(home), tmp_path / "other", pause_s=0)
    assert len(home.requests) == 1


def test_what_arrived_before_a_failure_is_kept_and_said(home: Home, tmp_path: Path):
    home.cut_once["/file"] = 1000
    home.answers = []
    file = remote(home, size=len(RAW))

    def fail_after_first(count: int) -> None:
        if count:
            home.answers = [503] * 5

    with pytest.raises(FetchError, match="1,000 bytes are kept"):
        download(file, tmp_path / "file", progress=fail_after_first, pause_s=0)
    home.answers = []
    download(file, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == RAW


def test_no_server_at_all_is_our_own_error(tmp_path: Path):
    with pytest.raises(FetchError, match="continues where it stopped"):
        download(RemoteFile("http://127.0.0.1:9/none", "none"), tmp_path / "file", pause_s=0)


def test_only_web_addresses_are_opened(tmp_path: Path):
    with pytest.raises(FetchError, match="web address"):
        download(RemoteFile("file:///etc/hostname", "x"), tmp_path / "file")

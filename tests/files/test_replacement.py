"""A file is replaced as a whole or not at all, and nothing but a plain file is ever replaced."""

import os
from pathlib import Path

import pytest

from unmixnet.errors import UnmixError
from unmixnet.files.replacement import move_into_place, replacing, write_file


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_file_is_written_with_the_folders_above_it(tmp_path: Path):
    write_file(tmp_path / "a" / "b.txt", "µ")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "µ".encode()
    assert names(tmp_path / "a") == {"b.txt"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_interrupted_writer_leaves_the_old_file_and_no_other(error, tmp_path: Path):
    path = tmp_path / "a.txt"
    write_file(path, b"old")
    with pytest.raises(error), replacing(path) as part:
        part.write_bytes(b"ne")
        raise error
    assert path.read_bytes() == b"old" and names(tmp_path) == {"a.txt"}


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path):
    with pytest.raises(UnmixError, match="No space left") as caught, replacing(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert caught.value.where.endswith("a.txt") and names(tmp_path) == set()


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "latest").symlink_to(tmp_path / "run.txt")
    for content in (b"1", b"2"):
        write_file(tmp_path / "latest", content)
    assert (tmp_path / "latest").is_symlink() and (tmp_path / "run.txt").read_bytes() == b"2"


def test_a_pipe_or_a_folder_is_never_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(UnmixError, match="not a plain file"):
            write_file(tmp_path / name, b"x")
    assert (tmp_path / "pipe").is_fifo() and names(tmp_path) == {"pipe", "folder"}


def test_a_complete_part_is_moved_into_place(tmp_path: Path):
    (tmp_path / "a.part").write_bytes(b"whole")
    move_into_place(tmp_path / "a.part", tmp_path / "a")
    assert names(tmp_path) == {"a"} and (tmp_path / "a").read_bytes() == b"whole"

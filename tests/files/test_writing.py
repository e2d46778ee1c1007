"""An artefact is whole before it has its name, replaces only its own kind, and comes back as it went in."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unmixnet.files import Artefact, ArtefactError, fingerprint, read_artefact, recover, write_artefact
from unmixnet.files.replacement import incoming, outgoing

from .bundles import SOUND, bundle, forge, manifest


def step(folder: Path) -> int:
    return int(read_artefact(folder).tensors["step"])


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_an_artefact_comes_back_as_it_went_in(tmp_path: Path):
    digest = write_artefact(tmp_path / "model", bundle())
    again = read_artefact(tmp_path / "model", kind="bundle")
    assert again.digest == digest and len(digest) == 64
    assert again.documents == bundle().documents
    assert fingerprint(again.tensors) == fingerprint(bundle().tensors)


def test_the_digest_depends_on_content_alone(tmp_path: Path):
    sound = bundle()
    shuffled = Artefact(sound.kind, dict(reversed(sound.tensors.items())), dict(reversed(sound.documents.items())))
    digest = write_artefact(tmp_path / "a", sound)
    assert write_artefact(tmp_path / "b", shuffled) == digest
    assert write_artefact(tmp_path / "a", read_artefact(tmp_path / "b")) == digest
    assert write_artefact(tmp_path / "c", replace(sound, kind="checkpoint")) != digest
    assert write_artefact(tmp_path / "d", replace(sound, documents={})) != digest


def test_the_manifest_is_the_one_that_anybody_would_compute(tmp_path: Path):
    write_artefact(tmp_path / "model", bundle())
    files = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    assert files.pop("manifest.json") == manifest(files)
    assert files.keys() == {"weights.safetensors", *bundle().documents}


def test_a_new_artefact_takes_the_place_of_the_old(tmp_path: Path):
    for seed in range(3):
        write_artefact(tmp_path / "run" / "model", bundle(seed))
        assert step(tmp_path / "run" / "model") == seed
        assert names(tmp_path / "run") == {"model"}


def test_a_folder_named_by_a_link_or_a_relative_path_is_followed(tmp_path: Path, monkeypatch):
    (tmp_path / "latest").symlink_to(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    write_artefact(Path("latest"), bundle(1))
    write_artefact(Path("latest"), bundle(2))
    assert step(Path("model")) == 2 and (tmp_path / "latest").is_symlink()


def test_another_kind_is_refused(tmp_path: Path):
    write_artefact(tmp_path / "model", bundle())
    with pytest.raises(ArtefactError, match="expected a 'checkpoint'"):
        read_artefact(tmp_path / "model", kind="checkpoint")


FOREIGN = {
    "notes": lambda folder: (folder / "notes.txt").write_text("mine"),
    "somebody's manifest": lambda folder: (folder / "manifest.json").write_text("{}"),
    "a folder of artefacts": lambda folder: forge(folder / "model", SOUND),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
def test_somebody_elses_files_are_never_replaced(make, tmp_path: Path):
    (tmp_path / "home").mkdir()
    make(tmp_path / "home")
    before = names(tmp_path / "home")
    with pytest.raises(ArtefactError, match="not replaced"):
        write_artefact(tmp_path / "home", bundle())
    assert names(tmp_path / "home") == before and names(tmp_path) == {"home"}


def test_a_file_in_the_way_is_not_replaced(tmp_path: Path):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(ArtefactError):
        write_artefact(tmp_path / "model", bundle())
    with pytest.raises(ArtefactError):
        write_artefact(tmp_path / "model" / "below", bundle())
    assert (tmp_path / "model").read_text() == "mine"


def test_an_empty_folder_and_a_damaged_artefact_may_be_replaced(tmp_path: Path):
    (tmp_path / "model").mkdir()
    write_artefact(tmp_path / "model", bundle(1))
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"lost")
    with pytest.raises(ArtefactError):
        step(tmp_path / "model")
    write_artefact(tmp_path / "model", bundle(2))
    assert step(tmp_path / "model") == 2 and names(tmp_path) == {"model"}


UNWRITABLE = {
    "a path as a name": replace(bundle(), documents={"../x.json": 1}),
    "a name without an ending": replace(bundle(), documents={"config": 1}),
    "the name of the manifest": replace(bundle(), documents={"Manifest.json": 1}),
    "a name that is a number": replace(bundle(), documents={3: 1}),
    "names that differ in case": replace(bundle(), documents={"a.json": 1, "A.json": 1}),
    "too many documents": replace(bundle(), documents={f"{n}.json": n for n in range(64)}),
    "too large documents": replace(bundle(), documents={"a.txt": " " * (17 << 20)}),
    "a number as text": replace(bundle(), documents={"card.md": 3}),
    "half a surrogate pair": replace(bundle(), documents={"card.md": "\ud800"}),
    "an empty kind": replace(bundle(), kind=""),
    "a long kind": replace(bundle(), kind="x" * 40),
    "half precision": replace(bundle(), tensors={"a": np.zeros(2, np.float16)}),
}


@pytest.mark.parametrize("artefact", UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_what_could_not_be_read_again_is_refused_before_anything_is_touched(artefact: Artefact, tmp_path: Path):
    write_artefact(tmp_path / "model", bundle(7))
    with pytest.raises(ArtefactError) as caught:
        write_artefact(tmp_path / "model", artefact)
    assert caught.value.where and caught.value.remedy
    assert step(tmp_path / "model") == 7 and names(tmp_path) == {"model"}


@pytest.mark.parametrize("folder", ["/", "a\0b", "x" * 300])
@pytest.mark.parametrize("action", [read_artefact, lambda folder: write_artefact(folder, bundle())])
def test_an_impossible_folder_meets_our_own_error(folder: str, action, tmp_path: Path):
    with pytest.raises(ArtefactError) as caught:
        action(Path(folder) if folder == "/" else tmp_path / folder)
    assert caught.value.remedy and str(caught.value).isprintable()


def test_reading_where_nothing_stands_says_so(tmp_path: Path):
    with pytest.raises(ArtefactError, match="no such folder"):
        read_artefact(tmp_path / "model")


# ---------------------------------------------------------------- what reaches the disk, and in which order


def recorded_calls(monkeypatch) -> list[tuple[str, str]]:
    """Every fsync and rename of the process, with the path as it was named at that time."""
    calls: list[tuple[str, str]] = []
    fsync, rename = os.fsync, os.rename

    def note_fsync(descriptor):
        calls.append(("fsync", os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def note_rename(old, new):
        calls.append(("rename", str(old)))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "rename", note_rename)
    return calls


def synced_before_named(calls: list[tuple[str, str]], place: Path, files: set[str]) -> bool:
    """Every file and then the folder reached the disk before the folder got its name, and the name afterwards."""
    if ("rename", str(place)) not in calls:
        return False
    at = calls.index(("rename", str(place)))
    before = [path for what, path in calls[:at] if what == "fsync"]
    after = [path for what, path in calls[at:] if what == "fsync"]
    wanted = {str(place / name) for name in files}
    return wanted <= set(before) and before[-1] == str(place) and str(place.parent) in after


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to name descriptors")
def test_every_byte_is_on_the_disk_before_the_artefact_has_its_name(tmp_path: Path, monkeypatch):
    write_artefact(tmp_path / "model", bundle(0))
    calls = recorded_calls(monkeypatch)
    write_artefact(tmp_path / "model", bundle(1))
    files, place = names(tmp_path / "model"), incoming(tmp_path / "model")
    assert synced_before_named(calls, place, files)
    for call in [call for call in calls if call[0] == "fsync"]:
        assert not synced_before_named([other for other in calls if other != call], place, files), "twin: one sync less"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_disk_leaves_the_old_artefact(code: int, tmp_path: Path, monkeypatch):
    write_artefact(tmp_path / "model", bundle(1))

    def full(descriptor):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArtefactError, match=os.strerror(code)):
        write_artefact(tmp_path / "model", bundle(2))
    assert step(tmp_path / "model") == 1 and names(tmp_path) == {"model"}


# ---------------------------------------------------------------- what a crash leaves


def test_a_crash_between_the_renames_leaves_the_old_artefact(tmp_path: Path):
    write_artefact(tmp_path / "model", bundle(1))
    (tmp_path / "model").rename(outgoing(tmp_path / "model"))
    incoming(tmp_path / "model").mkdir()
    assert step(tmp_path / "model") == 1
    assert not (tmp_path / "model").exists(), "reading changes nothing"
    recover(tmp_path / "model")
    assert names(tmp_path) == {"model"} and step(tmp_path / "model") == 1


def test_a_crash_after_the_renames_leaves_the_new_artefact(tmp_path: Path):
    write_artefact(outgoing(tmp_path / "model"), bundle(1))
    write_artefact(tmp_path / "model", bundle(2))
    write_artefact(outgoing(tmp_path / "model"), bundle(1))
    assert step(tmp_path / "model") == 2
    recover(tmp_path / "model")
    assert names(tmp_path) == {"model"} and step(tmp_path / "model") == 2


def test_the_next_write_removes_what_a_crash_left(tmp_path: Path):
    write_artefact(tmp_path / "model", bundle(1))
    (tmp_path / "model").rename(outgoing(tmp_path / "model"))
    incoming(tmp_path / "model").mkdir()
    (incoming(tmp_path / "model") / "weights.safetensors").write_bytes(b"half")
    write_artefact(tmp_path / "model", bundle(2))
    assert names(tmp_path) == {"model"} and step(tmp_path / "model") == 2


def test_recovery_where_nothing_happened_does_nothing(tmp_path: Path):
    recover(tmp_path / "none" / "model")
    (tmp_path / "empty").mkdir()
    recover(tmp_path / "empty")
    write_artefact(tmp_path / "model", bundle(1))
    recover(tmp_path / "model")
    assert names(tmp_path) == {"empty", "model"} and step(tmp_path / "model") == 1

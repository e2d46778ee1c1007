"""Reading and writing an artefact folder: checked before it is interpreted, complete before it gets its name."""

import itertools
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from unmixnet.files.artefact_format import (
    LARGEST_MANIFEST,
    MANIFEST,
    MOST_FILES,
    Artefact,
    FileEntry,
    Manifest,
    check_documents,
    manifest_bytes,
    manifest_of,
    pack,
    parse_manifest,
    sha256,
    unpack,
)
from unmixnet.files.canonical_json import ArtefactError, quoted, refused, refusing
from unmixnet.files.replacement import create_parents, fill, is_free, locked, outgoing, resolved, settle, swap

__all__ = ["read_artefact", "read_manifest", "recover", "write_artefact"]

_ATTEMPTS = 50


def read_artefact(folder: Path, *, kind: str | None = None, max_bytes: int = 256 * 2**20) -> Artefact:
    """The artefact in a folder, or an `ArtefactError`; changes nothing on the disk.

    A writer may replace the artefact meanwhile: if reading fails and the folder is no longer the one that reading
    began with, it begins again.

    Arguments:
        folder: where `write_artefact` put it.
        kind: the kind that it must have; None takes any.
        max_bytes: largest size of all files together [bytes].
    """
    path = resolved(folder)
    for attempt in itertools.count(1):
        before = _standing(path)
        try:
            return _of_kind(_read(_current(path), max_bytes), kind, path)
        except ArtefactError:
            if _standing(path) == before or attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def read_manifest(place: Path) -> tuple[Manifest, dict[str, int]]:
    """The manifest of a folder, and the size of each other file that stands there, all of them listed."""
    sizes = _sizes(place)
    if MANIFEST not in sizes:
        raise refused(f"there is no {MANIFEST}, so this is not an artefact", place, "Name the folder of an artefact")
    size = sizes.pop(MANIFEST)
    if size > LARGEST_MANIFEST:
        problem = f"the manifest takes {size:,} bytes, expected at most {LARGEST_MANIFEST:,}"
        raise refused(problem, place / MANIFEST)
    manifest = parse_manifest(_content(place / MANIFEST, size), place / MANIFEST)
    if extra := sorted(sizes.keys() - {entry.name for entry in manifest.files}):
        remedy = "Move it elsewhere; an artefact holds nothing that its manifest does not list"
        raise refused(f"the file {quoted(extra[0])} is not in the manifest", place, remedy)
    return manifest, sizes


def _read(place: Path, max_bytes: int) -> Artefact:
    manifest, sizes = read_manifest(place)
    for entry in manifest.files:
        if sizes.get(entry.name) != entry.size:
            seen = f"has {sizes[entry.name]:,} bytes" if entry.name in sizes else "is missing"
            raise refused(f"the file {seen}, the manifest says {entry.size:,} bytes", place / entry.name)
    _check_total(sizes, max_bytes, place)
    check_documents(sizes, place)
    return unpack(manifest, {entry.name: _verified(place, entry) for entry in manifest.files}, place)


def _check_total(sizes: Mapping[str, int], max_bytes: int, place: Path) -> None:
    if (total := sum(sizes.values())) > max_bytes:
        remedy = "Raise max_bytes if you trust the origin of the artefact"
        raise refused(f"the files take {total:,} bytes, expected at most {max_bytes:,}", place, remedy)


def _verified(place: Path, entry: FileEntry) -> bytes:
    raw = _content(place / entry.name, entry.size)
    if sha256(raw) != entry.sha256:
        raise refused("the SHA-256 of the file differs from the manifest", place / entry.name)
    return raw


def _sizes(place: Path) -> dict[str, int]:
    """Size of every file in a folder; anything but a plain file, and a crowd of files, is refused."""
    with refusing(place, "Name the folder of an artefact"), os.scandir(place) as entries:
        listed = list(itertools.islice(entries, MOST_FILES + 2))
        stats = {entry.name: entry.stat(follow_symlinks=False) for entry in listed}
    if len(stats) > MOST_FILES + 1:
        raise refused(f"more than {MOST_FILES} files", place, "Name the folder of an artefact")
    for name, status in stats.items():
        if not stat.S_ISREG(status.st_mode):
            remedy = "Put the file itself there; links and folders are not followed"
            raise refused(f"{quoted(name)} is not a plain file", place, remedy)
    return {name: status.st_size for name, status in stats.items()}


def _content(path: Path, size: int) -> bytes:
    """Exactly `size` bytes; a file that was exchanged for a link, a pipe or a longer one is noticed."""
    with refusing(path), open(path, "rb", opener=_open_plain) as file:
        plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        raw = file.read(size + 1) if plain else b""
    if not plain or len(raw) != size:
        raise refused(f"the file is no longer a plain file of {size:,} bytes", path)
    return raw


def _open_plain(path: str, flags: int) -> int:
    """Open without following a link and without waiting at a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _current(path: Path) -> Path:
    """The folder, or the old artefact beside it if a replacement was interrupted between its two renames."""
    if os.path.lexists(path):
        return path
    if os.path.lexists(outgoing(path)):
        return outgoing(path)
    raise refused("there is no such folder", path, "Correct the path, or write an artefact there")


def _standing(path: Path) -> tuple[tuple[int, ...] | None, ...]:
    """Which folders hold the name now; differs after any replacement."""
    return tuple(_identity(place) for place in (path, outgoing(path)))


def _identity(place: Path) -> tuple[int, ...] | None:
    try:
        status = os.lstat(place)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _of_kind(artefact: Artefact, kind: str | None, path: Path) -> Artefact:
    if kind is not None and artefact.kind != kind:
        remedy = f"Name the folder of a {quoted(kind)}"
        raise refused(f"the artefact is a {quoted(artefact.kind)}, expected a {quoted(kind)}", path, remedy)
    return artefact


_REMEDY = "Check the space on the disk and the permissions of the folder"


def write_artefact(folder: Path, artefact: Artefact) -> str:
    """Write an artefact in place of the one that stands there, if any, and give its digest.

    At every instant either the old or the new one can be read; once this returns, the new one outlives a loss of
    power. Only an artefact or an empty folder is replaced, never somebody's other files.
    """
    path = resolved(folder)
    files = pack(artefact)
    manifest = manifest_of(artefact.kind, files)
    with refusing(path, _REMEDY):
        create_parents(path)
        with locked(path.parent):
            _check_replaceable(path)
            settle(path)
            fill(path, {**files, MANIFEST: manifest_bytes(manifest)})
            swap(path)
    return manifest.digest


def recover(folder: Path) -> None:
    """Finish a replacement that a crash interrupted, and remove what it left; `write_artefact` does so by itself."""
    path = resolved(folder)
    with refusing(path, _REMEDY):
        if path.parent.is_dir():
            with locked(path.parent):
                _check_replaceable(path)
                settle(path)


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is not an artefact; one with a sound manifest may be replaced whatever its other files."""
    if is_free(path):
        return
    try:
        read_manifest(path)
    except ArtefactError as error:
        problem = f"the folder is not replaced because it is not a sound artefact ({error.problem})"
        raise refused(problem, path, "Choose another folder, or move this one away") from None

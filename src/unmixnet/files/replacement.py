"""Replacing a file or a folder atomically: written beside its place, synced to disk, then renamed."""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from unmixnet.errors import UnmixError
from unmixnet.files.canonical_json import quoted, refused, refusing

__all__ = [
    "create_parents",
    "fill",
    "incoming",
    "is_free",
    "locked",
    "move_into_place",
    "outgoing",
    "replacing",
    "resolved",
    "settle",
    "swap",
    "write_file",
]


_REMEDY = "Check the space on the disk and the permissions of the folder"


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary place beside `path`; what is written there takes the name `path` when the block ends well.

        with replacing("table.parquet") as part, pq.ParquetWriter(part, schema) as writer:
            ...

    Folders above `path` are made. Whatever ends the block early leaves neither a half-written file nor a temporary
    one; an `OSError` becomes an `UnmixError` that names `path`.
    """
    target = Path(os.path.realpath(path))  # the temporary file must be on the same disk as the file behind a link
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield part
        move_into_place(part, target)
    except OSError as error:
        why = error.strerror or str(error)
        raise UnmixError(f"the file cannot be written ({why})", where=str(path), remedy=_REMEDY) from None
    finally:
        with suppress(OSError):
            part.unlink()


def write_file(path: str | Path, content: bytes | str) -> None:
    """Write a file as a whole or not at all; text is written in UTF-8."""
    with replacing(path) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def move_into_place(part: Path, path: Path) -> None:
    """Sync a complete file to the disk, then give it the name `path` in the same folder; may raise an `OSError`.

    A device or a pipe is never replaced, and a link stays a link: the file that it points to is replaced.
    """
    path = Path(os.path.realpath(path))
    if os.path.lexists(path) and not path.is_file():
        raise OSError(errno.EEXIST, "something that is not a plain file has this name")
    descriptor = os.open(part, os.O_RDWR)  # Windows syncs only what is open for writing
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(part, path)
    _sync(path.parent)


def resolved(folder: Path | str) -> Path:
    """The folder itself, behind any link that the caller follows by naming it."""
    with refusing(quoted(str(folder)), "Name a folder"):
        path = Path(os.path.realpath(folder))
    if not path.name:
        raise refused("the root of the disk cannot be an artefact", path, "Name a folder")
    return path


def incoming(path: Path) -> Path:
    """Where a new artefact is filled, and an old one removed."""
    return path.with_name(f".{path.name}.unmixnet-incoming")


def outgoing(path: Path) -> Path:
    """Where the old artefact waits until the new one has its name."""
    return path.with_name(f".{path.name}.unmixnet-outgoing")


def create_parents(path: Path) -> None:
    """Make the folders above an artefact, and make their names last."""
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    for parent in reversed(missing):
        _sync(parent.parent)


@contextmanager
def locked(parent: Path) -> Iterator[None]:
    """Let one writer at a time into a folder; the system opens the lock of a process that dies."""
    try:
        import fcntl
    except ImportError:  # a system without these locks: writers must not compete
        yield
        return
    descriptor = os.open(parent, os.O_RDONLY)
    # Some network disks have no locks; there, too, writers must not compete.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        # By name, since closing alone would leave the lock to a process that was forked meanwhile.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def is_free(path: Path) -> bool:
    """Whether nothing stands under a name but perhaps an empty folder, which a rename replaces."""
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def settle(path: Path) -> None:
    """Finish what a crash interrupted: the old artefact gets its name back unless the new one has it."""
    _remove(incoming(path))
    if not os.path.lexists(outgoing(path)):
        return
    if is_free(path):
        os.rename(outgoing(path), path)
        _sync(path.parent)
    else:
        _discard(outgoing(path), path)


def fill(path: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a new artefact into its waiting place; every byte and name is on the disk on return."""
    place = incoming(path)
    place.mkdir()
    try:
        for name, raw in files.items():
            with (place / name).open("xb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
        _sync(place)
    except BaseException:
        _remove(place)
        raise


def swap(path: Path) -> None:
    """Give the new artefact the name, and remove the old one."""
    replaces = not is_free(path)
    if replaces:
        os.rename(path, outgoing(path))
    try:
        os.rename(incoming(path), path)
    except OSError:
        if replaces:
            os.rename(outgoing(path), path)
        raise
    _sync(path.parent)
    if replaces:
        _discard(outgoing(path), path)


def _discard(place: Path, path: Path) -> None:
    """Remove a complete artefact; under the name of debris first, so that no half of it is ever taken for whole."""
    os.rename(place, incoming(path))
    _remove(incoming(path))


def _remove(place: Path) -> None:
    # What cannot be removed now is in the way of the next `fill`, which reports it.
    shutil.rmtree(place, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if os.name == "nt":  # no folder can be opened there, and the system writes names through by itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a disk that cannot sync folders
            raise
    finally:
        os.close(descriptor)

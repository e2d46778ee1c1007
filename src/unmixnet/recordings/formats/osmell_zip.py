"""The members of an `.osmell` file, which nobody vouches for.

Members are read by name and never written to the disk. Sizes are counted while unpacking, so that a small file cannot
become a large one; names that point elsewhere, twice the same name, links, encryption and unusual compression are
refused even where the member would not be read.
"""

import stat
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

from unmixnet.errors import UnmixError

__all__ = ["LARGEST", "OsmellError", "members"]

LARGEST = {"manifest.json": 1 << 20, "data.csv": 64 << 20, "events.json": 8 << 20}
"""Most bytes of each member, unpacked."""
_LARGEST_FILE = 64 << 20
_MOST_MEMBERS = 32
_CHUNK = 1 << 16
_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_AGAIN = "Export the file again, or ask for another copy"


class OsmellError(UnmixError):
    """An `.osmell` file that is damaged, incomplete or hostile."""


def members(source: str | Path | bytes, place: str) -> dict[str, bytes]:
    """manifest.json, data.csv and, if there, events.json, unpacked."""
    try:
        raw = source if isinstance(source, bytes) else _file(Path(source), place)
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            listed = archive.infolist()
            _check(listed, place)
            return {item.filename: _unpacked(archive, item, place) for item in listed if item.filename in LARGEST}
    except OSError as error:
        raise _refused(error.strerror or str(error), place, "Check the path and the permissions") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise _refused(f"not a sound ZIP file ({str(error)[:80] or type(error).__name__})", place) from None


def _file(path: Path, place: str) -> bytes:
    with path.open("rb") as file:
        raw = file.read(_LARGEST_FILE + 1)
    if len(raw) > _LARGEST_FILE:
        raise _refused(f"more than {_LARGEST_FILE:,} bytes", place, "Export a shorter recording")
    return raw


def _check(listed: list[zipfile.ZipInfo], place: str) -> None:
    """Refuse an archive that holds too much, too little, or anything that is no plain file in plain sight."""
    if len(listed) > _MOST_MEMBERS:
        raise _refused(f"{len(listed)} members, expected two or three", place)
    names = [item.filename for item in listed]
    for item in listed:
        name = item.orig_filename
        if "\0" in name or "\\" in name or name.startswith("/") or ":" in name or ".." in name.split("/"):
            raise _refused(f"a member whose name points elsewhere ({name[:40]!r})", place)
        if names.count(item.filename) > 1:
            raise _refused(f"the member {name[:40]!r} is there twice", place)
        kind = stat.S_IFMT(item.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _refused(f"the member {name[:40]!r} is a link or a device", place)
        if item.flag_bits & _ENCRYPTED or item.compress_type not in _COMPRESSION:
            raise _refused(f"the member {name[:40]!r} is encrypted, or compressed in an unusual way", place)
    for name in ("manifest.json", "data.csv"):
        if name not in names:
            raise _refused(f"no {name}", place)


def _unpacked(archive: zipfile.ZipFile, item: zipfile.ZipInfo, place: str) -> bytes:
    """One member; what it claims to be long is not believed, but a claim that is too long is refused at once."""
    most = LARGEST[item.filename]
    parts, size = [], item.file_size
    if size <= most:
        size = 0
        with archive.open(item) as member:
            while size <= most and (part := member.read(_CHUNK)):
                parts.append(part)
                size += len(part)
    if size > most:
        raise _refused(f"{item.filename} unpacks to more than {most:,} bytes", place)
    return b"".join(parts)


def _refused(problem: str, place: str, remedy: str = _AGAIN) -> OsmellError:
    return OsmellError(problem, where=place, remedy=remedy)

"""The manifest: every file with its size and SHA-256, under one digest that covers the manifest itself.

digest = SHA-256(canonical bytes of the manifest without its digest)
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unmixnet.files.canonical import decode_canonical, encode
from unmixnet.files.content import MANIFEST, MOST_FILES, WEIGHTS, is_document, is_kind
from unmixnet.files.refusal import quoted, refused

__all__ = ["LARGEST_MANIFEST", "Entry", "Manifest", "manifest_bytes", "manifest_of", "parse_manifest", "sha256"]

LARGEST_MANIFEST = 1 << 16
_FORMAT = "unmixnet-artefact"
_VERSION = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"digest", "files", "format", "kind", "version"}


@dataclass(frozen=True)
class Entry:
    """One file: name, size in bytes, SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Kind, files in the order of their names, and the digest of the whole."""

    kind: str
    files: tuple[Entry, ...]
    digest: str


def sha256(raw: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def manifest_of(kind: str, files: Mapping[str, bytes]) -> Manifest:
    """The manifest of files that are about to be written."""
    entries = tuple(Entry(name, len(files[name]), sha256(files[name])) for name in sorted(files))
    return Manifest(kind, entries, sha256(encode(_body(kind, entries), MANIFEST)))


def manifest_bytes(manifest: Manifest) -> bytes:
    """The canonical bytes of a manifest."""
    return encode({**_body(manifest.kind, manifest.files), "digest": manifest.digest}, MANIFEST)


def parse_manifest(raw: bytes, where: Path | str) -> Manifest:
    """A manifest from its bytes; any changed bit is an error."""
    value = decode_canonical(raw, where)
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        raise refused(f"this is not the manifest of an artefact (no format {_FORMAT!r})", where)
    body = {key: item for key, item in value.items() if key != "digest"}
    if value.get("digest") != sha256(encode(body, where)):
        raise refused("the manifest does not match its own digest", where)
    if type(value.get("version")) is not int or value["version"] != _VERSION:
        version = quoted(value.get("version"))
        raise refused(f"format version {version}, this release reads version {_VERSION}", where, "Update unmixnet")
    if value.keys() != _FIELDS or not is_kind(value["kind"]):
        raise refused("the fields of the manifest are not those of an artefact", where)
    return Manifest(value["kind"], _entries(value["files"], where), value["digest"])


def _body(kind: str, entries: tuple[Entry, ...]) -> dict[str, Any]:
    return {"format": _FORMAT, "version": _VERSION, "kind": kind, "files": [asdict(entry) for entry in entries]}


def _entries(value: Any, where: Path | str) -> tuple[Entry, ...]:
    """The listed files; names that could leave the folder, or meet on a disk that ignores case, are refused."""
    if not isinstance(value, list) or len(value) > MOST_FILES:
        raise refused(f"the list of files is no list of at most {MOST_FILES}", where)
    entries = tuple(_entry(item, where) for item in value)
    names = [entry.name for entry in entries]
    if names != sorted(names) or len({name.lower() for name in names}) != len(names):
        raise refused("the files are not listed once each in the order of their names", where)
    if WEIGHTS not in names:
        raise refused(f"{WEIGHTS} is not listed", where)
    return entries


def _entry(item: Any, where: Path | str) -> Entry:
    if not isinstance(item, dict) or item.keys() != {"name", "size", "sha256"}:
        raise refused(f"{quoted(item)} does not describe a file by name, size and sha256", where)
    name, size, digest = item["name"], item["size"], item["sha256"]
    if name != WEIGHTS and not is_document(name):
        raise refused(f"the file name {quoted(name)} is not allowed", where)
    if type(size) is not int or size < 0:
        raise refused(f"{name} has the size {quoted(size)}, expected a number of bytes", where)
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise refused(f"{name} has the SHA-256 {quoted(digest)}, expected 64 hexadecimal digits", where)
    return Entry(name, size, digest)

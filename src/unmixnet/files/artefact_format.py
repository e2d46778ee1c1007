"""The bytes of an artefact: documents, weights, and a manifest with the size and SHA-256 of every file."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.files.canonical_json import decode_canonical, encode, quoted, refused, refusing
from unmixnet.files.tensors import WEIGHTS, pack_tensors, unpack_tensors

__all__ = [
    "LARGEST_DOCUMENTS",
    "LARGEST_MANIFEST",
    "MANIFEST",
    "MOST_FILES",
    "WEIGHTS",
    "Artefact",
    "FileEntry",
    "Manifest",
    "check_documents",
    "is_document",
    "is_kind",
    "manifest_bytes",
    "manifest_of",
    "pack",
    "parse_manifest",
    "sha256",
    "unpack",
]

MANIFEST = "manifest.json"
MOST_FILES = 64

_DOCUMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,58}\.(json|md|txt)")
_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")


@dataclass(frozen=True, eq=False)
class Artefact:
    """Weights with the documents that explain them: a training checkpoint, or a bundle to hand on.

    Arguments:
        kind: "checkpoint", "bundle" or another short word.
        tensors: name → array of float32, float64, int32, int64, uint32, uint8 or bool.
        documents: file name → JSON value (for .json) or text (for .md and .txt).
        digest: SHA-256 of the manifest, in hexadecimal; "" before it is written.
    """

    kind: str
    tensors: Mapping[str, np.ndarray]
    documents: Mapping[str, Any]
    digest: str = ""


def is_document(name: object) -> bool:
    """Whether a document may be called so: letters, digits, `.`, `_`, `-`, and an ending that says how to read it."""
    return isinstance(name, str) and _DOCUMENT.fullmatch(name) is not None and name.lower() != MANIFEST


def is_kind(kind: object) -> bool:
    """Whether a kind is one short word."""
    return isinstance(kind, str) and _KIND.fullmatch(kind) is not None


LARGEST_MANIFEST = 1 << 16
_FORMAT = "unmixnet-artefact"
_VERSION = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"digest", "files", "format", "kind", "version"}


@dataclass(frozen=True)
class FileEntry:
    """One file: name, size in bytes, SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """Kind, files in the order of their names, and the digest of the whole."""

    kind: str
    files: tuple[FileEntry, ...]
    digest: str


def sha256(raw: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def manifest_of(kind: str, files: Mapping[str, bytes]) -> Manifest:
    """The manifest of files that are about to be written."""
    entries = tuple(FileEntry(name, len(files[name]), sha256(files[name])) for name in sorted(files))
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


def _body(kind: str, entries: tuple[FileEntry, ...]) -> dict[str, Any]:
    return {"format": _FORMAT, "version": _VERSION, "kind": kind, "files": [asdict(entry) for entry in entries]}


def _entries(value: Any, where: Path | str) -> tuple[FileEntry, ...]:
    """The listed files; names that could leave the folder, or meet on a disk that ignores case, are refused."""
    if not isinstance(value, list) or len(value) > MOST_FILES:
        raise refused(f"the list of files is not a list of at most {MOST_FILES}", where)
    entries = tuple(_entry(item, where) for item in value)
    names = [entry.name for entry in entries]
    if names != sorted(names) or len({name.lower() for name in names}) != len(names):
        raise refused("the files are not listed once each in the order of their names", where)
    if WEIGHTS not in names:
        raise refused(f"{WEIGHTS} is not listed", where)
    return entries


def _entry(item: Any, where: Path | str) -> FileEntry:
    if not isinstance(item, dict) or item.keys() != {"name", "size", "sha256"}:
        raise refused(f"{quoted(item)} does not describe a file by name, size and sha256", where)
    name, size, digest = item["name"], item["size"], item["sha256"]
    if name != WEIGHTS and not is_document(name):
        raise refused(f"the file name {quoted(name)} is not allowed", where)
    if type(size) is not int or size < 0:
        raise refused(f"{name} has the size {quoted(size)}, expected a number of bytes", where)
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise refused(f"{name} has the SHA-256 {quoted(digest)}, expected 64 hexadecimal digits", where)
    return FileEntry(name, size, digest)


# In memory a JSON value may take twenty times its bytes, so the documents have a limit of their own.
LARGEST_DOCUMENTS = 16 << 20


def pack(artefact: Artefact) -> dict[str, bytes]:
    """The files of an artefact without the manifest; whatever could not be read again is refused."""
    if not is_kind(artefact.kind):
        remedy = 'Use one short word of letters and digits, such as "bundle"'
        raise refused(f"the kind {quoted(artefact.kind)} is not allowed", "artefact", remedy)
    names = [*artefact.documents]
    for name in names:
        if not is_document(name):
            remedy = "Use letters, digits, '.', '_' or '-', and end in .json, .md or .txt"
            raise refused(f"the document name {quoted(name)} is not allowed", "artefact", remedy)
    if len({name.lower() for name in names}) != len(names) or len(names) >= MOST_FILES:
        problem = f"{len(names)} document names, expected fewer than {MOST_FILES} that differ in more than case"
        raise refused(problem, "artefact", "Rename or join documents")
    documents = {name: _document_bytes(name, artefact.documents[name]) for name in names}
    check_documents({name: len(raw) for name, raw in documents.items()}, "artefact")
    return {WEIGHTS: pack_tensors(artefact.tensors), **documents}


def unpack(manifest: Manifest, files: Mapping[str, bytes], where: Path) -> Artefact:
    """The artefact of files that match their manifest; the words first, then the weights."""
    documents = {name: _document(name, raw, where / name) for name, raw in files.items() if name != WEIGHTS}
    tensors = unpack_tensors(files[WEIGHTS], where / WEIGHTS)
    return Artefact(manifest.kind, tensors, documents, manifest.digest)


def check_documents(sizes: Mapping[str, int], where: Path | str) -> None:
    """Refuse documents that are too large together."""
    total = sum(size for name, size in sizes.items() if name != WEIGHTS)
    if total > LARGEST_DOCUMENTS:
        problem = f"the documents take {total:,} bytes, expected at most {LARGEST_DOCUMENTS:,}"
        raise refused(problem, where, "Keep long series of numbers as tensors")


def _document_bytes(name: str, value: Any) -> bytes:
    if name.endswith(".json"):
        return encode(value, name)
    if not isinstance(value, str):
        raise refused(f"a {type(value).__name__} in a text document", name, "Write text, or end the name in .json")
    with refusing(name, "Remove the lone surrogates"):
        return value.encode("utf-8")


def _document(name: str, raw: bytes, where: Path) -> Any:
    if name.endswith(".json"):
        return decode_canonical(raw, where)
    with refusing(where):
        return raw.decode("utf-8")

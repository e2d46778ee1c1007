"""An artefact as the bytes of its files, and back; knows no folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmixnet.files.canonical import decode_canonical, encode
from unmixnet.files.content import MOST_FILES, WEIGHTS, Artefact, is_document, is_kind
from unmixnet.files.manifest import Manifest
from unmixnet.files.refusal import quoted, refused, refusing
from unmixnet.files.weights import pack_tensors, unpack_tensors

__all__ = ["LARGEST_DOCUMENTS", "check_documents", "pack", "unpack"]

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

"""Named arrays as safetensors bytes and back; the header is checked before the tensors are interpreted."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.files.canonical_json import ArtefactError, decode, encode, quoted, refused, refusing

__all__ = [
    "DTYPES",
    "ITEM_SIZE",
    "LARGEST_HEADER",
    "WEIGHTS",
    "Slot",
    "check_header",
    "fingerprint",
    "pack_tensors",
    "unpack_tensors",
]

WEIGHTS = "weights.safetensors"

LARGEST_HEADER = 1 << 20
ITEM_SIZE = {"F32": 4, "F64": 8, "I32": 4, "I64": 8, "U32": 4, "U8": 1, "BOOL": 1}
_LENGTH_FIELD = 8
_LONGEST_NAME = 512
_HIGHEST_RANK = 16
# Also for a tensor with a zero among its sizes, whose other sizes no amount of data would bound.
_MOST_ITEMS = 1 << 40


@dataclass(frozen=True)
class Slot:
    """Where a tensor lies in the data: bytes `begin` to `end`, as `shape` items of `dtype`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def check_header(raw: bytes, where: Path | str) -> tuple[Slot, ...]:
    """The tensors of a safetensors file in the order of their data, or an error."""
    length = int.from_bytes(raw[:_LENGTH_FIELD], "little")
    start = _LENGTH_FIELD + length
    if len(raw) < _LENGTH_FIELD or length > LARGEST_HEADER or start > len(raw):
        expected = f"at most {LARGEST_HEADER:,} and no more than the file holds"
        raise refused(f"the header claims {length:,} bytes of a file of {len(raw):,}, expected {expected}", where)
    header = decode(raw[_LENGTH_FIELD:start], where)
    if raw[_LENGTH_FIELD : _LENGTH_FIELD + 1] != b"{" or not isinstance(header, dict):
        raise refused("the header is not a JSON object", where)
    slots = tuple(_slot(name, entry, where) for name, entry in header.items())
    _check_cover(slots, len(raw) - start, where)
    _check_booleans(slots, memoryview(raw)[start:], where)
    return slots


def _slot(name: str, entry: Any, where: Path | str) -> Slot:
    """One tensor; metadata is refused with the rest, since an artefact keeps its words in its documents."""
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name == "__metadata__":
        raise refused(f"the tensor name {quoted(name)} is not allowed", where)
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise refused(f"{quoted(name)} is not described by dtype, shape and data_offsets", where)
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEM_SIZE:
        raise refused(f"{quoted(name)} has the type {quoted(dtype)}, expected one of {', '.join(ITEM_SIZE)}", where)
    if not _are_counts(shape) or len(shape) > _HIGHEST_RANK or math.prod(max(size, 1) for size in shape) > _MOST_ITEMS:
        raise refused(f"{quoted(name)} has the shape {quoted(shape)}, which no tensor here has", where)
    if not _are_counts(offsets) or len(offsets) != 2:
        raise refused(f"{quoted(name)} has the offsets {quoted(offsets)}, expected a begin and an end", where)
    begin, end = offsets
    if (needed := math.prod(shape) * ITEM_SIZE[dtype]) != end - begin:
        raise refused(f"{quoted(name)} needs {needed:,} bytes and is given {end - begin:,}", where)
    return Slot(name, dtype, tuple(shape), begin, end)


def _are_counts(value: Any) -> bool:
    """Whether a value is a list of whole numbers from 0 up; true is not one of them."""
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _check_cover(slots: tuple[Slot, ...], size: int, where: Path | str) -> None:
    """No two tensors share a byte, and no byte belongs to none: both are places to hide something."""
    reached = 0
    for slot in slots:
        if slot.begin != reached:
            fault = "overlaps the tensor before it" if slot.begin < reached else "leaves a gap before it"
            raise refused(f"{quoted(slot.name)} begins at {slot.begin:,} and {fault}, expected {reached:,}", where)
        reached = slot.end
    if reached != size:
        raise refused(f"the tensors end at {reached:,} of {size:,} bytes of data", where)


def _check_booleans(slots: tuple[Slot, ...], data: memoryview, where: Path | str) -> None:
    """A byte other than 0 and 1 read as a truth value would behave as neither."""
    for slot in slots:
        if slot.dtype == "BOOL" and bytes(data[slot.begin : slot.end]).strip(b"\x00\x01"):
            raise refused(f"{quoted(slot.name)} holds truth values other than 0 and 1", where)


DTYPES = ("float32", "float64", "int32", "int64", "uint32", "uint8", "bool")
_WRITABLE = "Give the tensors short printable names, and shapes of at most 16 sizes"


def fingerprint(tensors: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names (sorted), types, shapes and little-endian bytes: equal only if equal bit for bit.

    The layout in memory and the order of the mapping do not matter; −0.0 and 0.0, or two kinds of NaN, do differ.
    """
    digest = hashlib.sha256()
    for name, array in _plain_arrays(tensors).items():
        # The line states the length of the bytes that follow, so no two sets of arrays run together.
        digest.update(encode([name, array.dtype.name, list(array.shape)], "fingerprint"))
        digest.update(array.tobytes())
    return digest.hexdigest()


def pack_tensors(tensors: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a safetensors file, accepted by the same check that reading makes."""
    from safetensors.numpy import save

    with refusing(WEIGHTS, _WRITABLE):
        raw = save(_plain_arrays(tensors))
    try:
        check_header(raw, WEIGHTS)
    except ArtefactError as error:
        raise refused(f"the tensors could not be read again ({error.problem})", WEIGHTS, _WRITABLE) from None
    return raw


def unpack_tensors(raw: bytes, where: Path | str) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file in the order of their names; its header is checked first."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    check_header(raw, where)
    with refusing(where):
        try:
            return dict(sorted(load(raw).items()))
        except SafetensorError as error:
            raise refused(f"safetensors refuses the file ({quoted(str(error))})", where) from None


def _plain_arrays(tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays sorted by name, C-contiguous and little-endian; scalars stay scalars."""
    if odd := [name for name in tensors if not isinstance(name, str)]:
        raise refused(f"the tensor name {quoted(odd[0])} is not text", WEIGHTS, "Name the tensors by text")
    return {name: _plain_array(name, tensors[name]) for name in sorted(tensors)}


def _plain_array(name: str, value: np.ndarray) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.name not in DTYPES:
        remedy = f"Convert it to one of {', '.join(DTYPES)}"
        raise refused(f"{quoted(name)} has the type {array.dtype.name}, which is not stored", WEIGHTS, remedy)
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")

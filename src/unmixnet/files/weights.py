"""Named arrays as safetensors bytes and back, and their fingerprint."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from unmixnet.files.canonical import encode
from unmixnet.files.content import WEIGHTS
from unmixnet.files.header import check_header
from unmixnet.files.refusal import ArtefactError, quoted, refused, refusing

__all__ = ["DTYPES", "fingerprint", "pack_tensors", "unpack_tensors"]

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
        raise refused(f"the tensor name {quoted(odd[0])} is no text", WEIGHTS, "Name the tensors by text")
    return {name: _plain_array(name, tensors[name]) for name in sorted(tensors)}


def _plain_array(name: str, value: np.ndarray) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.name not in DTYPES:
        remedy = f"Convert it to one of {', '.join(DTYPES)}"
        raise refused(f"{quoted(name)} has the type {array.dtype.name}, which is not stored", WEIGHTS, remedy)
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")

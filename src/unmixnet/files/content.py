"""What an artefact holds, and which names its files may have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["MANIFEST", "MOST_FILES", "WEIGHTS", "Artefact", "is_document", "is_kind"]

MANIFEST = "manifest.json"
WEIGHTS = "weights.safetensors"
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

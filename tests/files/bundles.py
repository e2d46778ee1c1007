"""Bundles to write, and a forger who makes manifests that are right, independently of the library."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np

from unmixnet.files import Artefact

CARD = "# Model card\n\nTrained on mixtures of almond, clove and μ-things; sensors in counts.\n"


def bundle(seed: int = 0, floats: int = 300) -> Artefact:
    """Weights, optimiser state and documents as a training writes them; about `floats` numbers."""
    rng = np.random.default_rng(seed)
    width = max(int(np.sqrt(floats / 3)), 1)
    tensors = {
        "encoder.W_h": rng.normal(size=(width, width)).astype(np.float32),
        "encoder.b": rng.normal(size=width),
        "adam.m": rng.normal(size=(width, width)).astype(np.float32),
        "adam.v": rng.normal(size=(width, width)).astype(np.float32) ** 2,
        "adam.count": np.array(seed, np.int32),
        "rng": rng.integers(0, 2**32, 2, dtype=np.uint32),
        "step": np.array(seed, np.int64),
        "used": rng.random(7) < 0.5,
        "codes": rng.integers(0, 256, 5, dtype=np.uint8),
        "empty": np.zeros((0, 3)),
    }
    documents = {
        "config.json": {"width": width, "sensors": ["NO2", "CO"], "rate_Hz": 1.0, "stride": None, "θ": True},
        "statistics.json": {"mean": rng.normal(size=12).tolist(), "std": rng.random(12).tolist()},
        "calibration.json": {"temperature": 1.5, "coverage": [0.9, 0.95]},
        "card.md": CARD,
    }
    return Artefact("bundle", tensors, documents)


def canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def manifest(files: dict[str, bytes], /, **changes: object) -> bytes:
    """A manifest with right hashes and digest, and any field changed before the digest is taken."""
    entries = [
        {"name": name, "size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        for name, raw in sorted(files.items())
    ]
    body = {"format": "unmixnet-artefact", "version": 1, "kind": "bundle", "files": entries, **changes}
    return canonical({**body, "digest": hashlib.sha256(canonical(body)).hexdigest()})


def forge(folder: Path, files: dict[str, bytes]) -> Path:
    """A folder whose manifest is right, whatever its files hold: what an attacker would make."""
    folder.mkdir(parents=True)
    for name, raw in {**files, "manifest.json": manifest(files)}.items():
        (folder / name).write_bytes(raw)
    return folder


def container(header: object, data: bytes = b"") -> bytes:
    """A safetensors file with any header: a JSON value, or the bytes themselves."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def slot(dtype: str, shape: list, begin: int, end: int) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SOUND = {"weights.safetensors": container({"w": slot("F32", [2], 0, 8)}, bytes(8)), "config.json": b'{"a":1}\n'}

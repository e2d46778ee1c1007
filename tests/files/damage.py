"""Accidents that befall a folder of files: each changes its bytes or names, and says what it did."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unmixnet.files import ArtefactError, read_artefact

Accident = Callable[[Path, np.random.Generator], str]


def _some_file(folder: Path, rng: np.random.Generator) -> Path:
    files = sorted(folder.iterdir())
    return files[int(rng.integers(len(files)))]


def flip_bit(folder: Path, rng: np.random.Generator) -> str:
    file = _some_file(folder, rng)
    raw = bytearray(file.read_bytes())
    at, bit = int(rng.integers(len(raw))), int(rng.integers(8))
    raw[at] ^= 1 << bit
    file.write_bytes(raw)
    return f"bit {bit} of byte {at} of {file.name}"


def truncate(folder: Path, rng: np.random.Generator) -> str:
    file = _some_file(folder, rng)
    raw = file.read_bytes()
    kept = int(rng.integers(len(raw)))
    file.write_bytes(raw[:kept])
    return f"{file.name} cut to {kept} bytes"


def append(folder: Path, rng: np.random.Generator) -> str:
    file = _some_file(folder, rng)
    more = (b"\n", b"\0", b" ", rng.bytes(9))[int(rng.integers(4))]
    file.write_bytes(file.read_bytes() + more)
    return f"{more!r} after {file.name}"


def delete(folder: Path, rng: np.random.Generator) -> str:
    file = _some_file(folder, rng)
    file.unlink()
    return f"{file.name} deleted"


def exchange(folder: Path, rng: np.random.Generator) -> str:
    first, second = rng.choice(sorted(folder.iterdir()), 2, replace=False)
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)
    return f"{first.name} and {second.name} exchanged"


def zero_block(folder: Path, rng: np.random.Generator) -> str:
    """What a lost sector leaves: zeros, or ones where there were zeros."""
    file = _some_file(folder, rng)
    raw = bytearray(file.read_bytes())
    at = int(rng.integers(len(raw)))
    block = slice(at, at + 512)
    raw[block] = bytes(len(raw[block])) if any(raw[block]) else b"\1" * len(raw[block])
    file.write_bytes(raw)
    return f"512 bytes from {at} of {file.name} lost"


def rename(folder: Path, rng: np.random.Generator) -> str:
    file = _some_file(folder, rng)
    file.rename(file.with_name(f"x{file.name}"))
    return f"{file.name} renamed"


def add_file(folder: Path, rng: np.random.Generator) -> str:
    name = str(rng.choice(["extra.json", ".hidden", "weights.safetensors~", "Config.json"]))
    (folder / name).write_bytes(b"{}\n")
    return f"{name} added"


ACCIDENTS: tuple[Accident, ...] = (flip_bit, truncate, append, delete, exchange, zero_block, rename, add_file)
# Bit flips are what must never pass, so they are half of all accidents.
SHARES = np.array([0.5, 0.2, *(0.05,) * 6])


def undetected(sound: Path, count: int, seed: int) -> list[str]:
    """The accidents, out of `count`, after which the folder can still be read; any other error than ours escapes."""
    rng = np.random.default_rng(seed)
    damaged = sound.with_name("damaged")
    passed = []
    for _ in range(count):
        shutil.copytree(sound, damaged)
        what = ACCIDENTS[int(rng.choice(len(ACCIDENTS), p=SHARES))](damaged, rng)
        try:
            read_artefact(damaged)
            passed.append(what)
        except ArtefactError as error:
            assert error.where and error.remedy and str(error).isprintable()
        shutil.rmtree(damaged)
    return passed

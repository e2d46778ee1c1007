"""Files that somebody made to do harm; where it helps, under a manifest whose hashes are right."""

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

from .bundles import SOUND, container, forge, manifest, slot

Attack = Callable[[Path], None]
MARKER = "the-pickle-was-run"


class _Payload:
    """Run as code by whoever unpickles it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return (os.mkdir, (str(self.folder / MARKER),))


def _weights(raw: bytes) -> Attack:
    def attack(folder: Path) -> None:
        forge(folder, {**SOUND, "weights.safetensors": raw})

    return attack


def _document(name: str, raw: bytes) -> Attack:
    def attack(folder: Path) -> None:
        forge(folder, {**SOUND, name: raw})

    return attack


def _pickle(folder: Path) -> None:
    forge(folder, {**SOUND, "weights.safetensors": pickle.dumps(_Payload(folder.parent))})


def _zip_bomb(folder: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(32 << 20))
    assert len(packed.getvalue()) < 1 << 20
    forge(folder, {**SOUND, "weights.safetensors": packed.getvalue()})


def _link(folder: Path) -> None:
    outside = folder.with_name("outside.json")
    outside.write_bytes(SOUND["config.json"])
    forge(folder, SOUND)
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(outside)


def _traversal(name: str) -> Attack:
    def attack(folder: Path) -> None:
        folder.with_name("outside.json").write_bytes(b"{}\n")
        forge(folder, SOUND)
        (folder / "manifest.json").write_bytes(manifest({**SOUND, name: b"{}\n"}))

    return attack


def _beside(make: Callable[[Path], object]) -> Attack:
    """A sound artefact with something more in its folder."""

    def attack(folder: Path) -> None:
        forge(folder, SOUND)
        make(folder)

    return attack


def _claim(**changes: object) -> Attack:
    return _beside(lambda folder: (folder / "manifest.json").write_bytes(manifest(SOUND, **changes)))


def _sparse(folder: Path) -> None:
    """A terabyte of nothing, which costs the attacker no space."""
    forge(folder, SOUND)
    os.truncate(folder / "weights.safetensors", 1 << 40)
    files = [
        {"name": "config.json", "sha256": "0" * 64, "size": 8},
        {"name": "weights.safetensors", "sha256": "0" * 64, "size": 1 << 40},
    ]
    (folder / "manifest.json").write_bytes(manifest(SOUND, files=files))


_W = b'"w":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}'
# What each attack is, the words of the refusal that it must meet, and how to make it.
ATTACKS: dict[str, tuple[str, Attack]] = {
    "a pickle": ("header claims", _pickle),
    "a zip bomb": ("header claims", _zip_bomb),
    "overlapping tensors": (
        "overlaps",
        _weights(container({"a": slot("U8", [6], 0, 6), "b": slot("U8", [6], 2, 8)}, bytes(8))),
    ),
    "the same bytes twice": (
        "overlaps",
        _weights(container({"a": slot("U8", [8], 0, 8), "b": slot("U8", [8], 0, 8)}, bytes(8))),
    ),
    "offsets beyond the end": ("end at 9 of 8", _weights(container({"a": slot("U8", [9], 0, 9)}, bytes(8)))),
    "offsets backwards": ("is given -8", _weights(container({"a": slot("U8", [0], 8, 0)}, bytes(8)))),
    "a gap between tensors": (
        "leaves a gap",
        _weights(container({"a": slot("U8", [2], 0, 2), "b": slot("U8", [2], 6, 8)}, bytes(8))),
    ),
    "bytes after the tensors": ("end at 2 of 8", _weights(container({"a": slot("U8", [2], 0, 2)}, bytes(8)))),
    "a header of 2**60 bytes": ("header claims", _weights((1 << 60).to_bytes(8, "little") + b"{}")),
    "a header of 2**64-1 bytes": ("header claims", _weights(b"\xff" * 8 + b"{}")),
    "a header of 2 MiB": ("header claims", _weights(container(b"{}" + b" " * (2 << 20)))),
    "a shape that overflows": ("has the shape", _weights(container({"a": slot("U8", [2**32, 2**32, 1], 0, 0)}))),
    "a shape that wraps round": ("has the shape", _weights(container({"a": slot("F32", [2**62 + 2], 0, 8)}, bytes(8)))),
    "a huge shape of nothing": ("has the shape", _weights(container({"a": slot("F64", [0, 2**62, 2**62], 0, 0)}))),
    "a thousand dimensions": ("has the shape", _weights(container({"a": slot("U8", [1] * 1000, 0, 1)}, bytes(1)))),
    "a negative size": ("has the shape", _weights(container({"a": slot("U8", [-2, -4], 0, 8)}, bytes(8)))),
    "a truth value of 7": ("truth values", _weights(container({"a": slot("BOOL", [2], 0, 2)}, b"\1\7"))),
    "duplicate keys in the header": ("occurs twice", _weights(container(b"{" + _W + b"," + _W + b"}", bytes(8)))),
    "the same key in disguise": (
        "occurs twice",
        _weights(container(b"{" + _W + b"," + _W.replace(b"w", b"\\u0077") + b"}", bytes(8))),
    ),
    "metadata in the header": ("tensor name", _weights(container(b'{"__metadata__":{"x":"y"},' + _W + b"}", bytes(8)))),
    "a foreign type": ("has the type", _weights(container({"a": slot("F8_E4M3", [8], 0, 8)}, bytes(8)))),
    "a name that moves the cursor": ("tensor name", _weights(container({"\x1b[2J": slot("U8", [8], 0, 8)}, bytes(8)))),
    "a header nested 100,000 deep": (
        "nested more than 64 deep",
        _weights(container(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")),
    ),
    "JSON nested 100,000 deep": (
        "nested more than 64 deep",
        _document("config.json", b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    ),
    "JSON objects nested 100,000 deep": (
        "nested more than 64 deep",
        _document("config.json", b'{"a":' * 100_000 + b"0" + b"}" * 100_000 + b"\n"),
    ),
    "duplicate keys in a document": ("occurs twice", _document("config.json", b'{"a":1,"a":2}\n')),
    "NaN in a document": ("not a JSON number", _document("config.json", b'{"a":NaN}\n')),
    "infinity in a document": ("not a JSON number", _document("config.json", b'{"a":-Infinity}\n')),
    "infinity by overflow": ("no JSON form", _document("config.json", b'{"a":1e999}\n')),
    "a number of 5,000 digits": ("digits", _document("config.json", b"1" * 5000 + b"\n")),
    "spaces in a document": ("canonical form", _document("config.json", b'{"a": 1}\n')),
    "UTF-16 in a document": ("utf-8", _document("config.json", "\ufeff{}".encode("utf-16-le"))),
    "half a surrogate pair": ("surrogates", _document("config.json", b'"\\ud800"\n')),
    "Latin-1 in a text": ("utf-8", _document("card.md", b"caf\xe9")),
    "documents of 20 MiB": ("the documents take", _document("card.md", b" " * (20 << 20))),
    "a link to a file outside": ("not a plain file", _link),
    "a pipe in place of a file": (
        "not a plain file",
        _beside(lambda folder: ((folder / "config.json").unlink(), os.mkfifo(folder / "config.json"))),
    ),
    "a name with ..": ("file name", _traversal("../outside.json")),
    "an absolute name": ("file name", _traversal("/etc/passwd")),
    "a name with a backslash": ("file name", _traversal("..\\outside.json")),
    "a name with NUL": ("file name", _traversal("a\0.json")),
    "the manifest in itself": ("file name", _traversal("manifest.json")),
    "names that differ in case": ("once each", _traversal("Config.json")),
    "an extra file": ("not in the manifest", _beside(lambda folder: (folder / "extra.py").write_text("import os"))),
    "a hidden file": ("not in the manifest", _beside(lambda folder: (folder / ".hidden").write_text(""))),
    "a name that is no text": (
        "not in the manifest",
        _beside(lambda folder: (folder / os.fsdecode(b"\xff\x1b.json")).touch()),
    ),
    "a sub-folder": ("not a plain file", _beside(lambda folder: (folder / "more").mkdir())),
    "a crowd of files": (
        "more than 64 files",
        _beside(lambda folder: [(folder / f"{n}.json").touch() for n in range(200)]),
    ),
    "a terabyte of nothing": ("the files take", _sparse),
    "a manifest of 1 GiB": (
        "the manifest takes",
        _beside(lambda folder: os.truncate(folder / "manifest.json", 1 << 30)),
    ),
    "another version": ("version 2", _claim(version=2)),
    "a version that is true": ("version True", _claim(version=True)),
    "another format": ("no format", _claim(format="other")),
    "a kind with a line break": ("fields of the manifest", _claim(kind="bundle\n")),
    "one more field": ("fields of the manifest", _claim(more=1)),
    "files that are no list": ("not a list", _claim(files={"a": 1})),
    "no files": ("not listed", _claim(files=[])),
    "a negative file size": (
        "the size -1",
        _claim(files=[{"name": "weights.safetensors", "size": -1, "sha256": "0" * 64}]),
    ),
    "a SHA-256 that is no text": (
        "the SHA-256 None",
        _claim(files=[{"name": "weights.safetensors", "size": 1, "sha256": None}]),
    ),
}

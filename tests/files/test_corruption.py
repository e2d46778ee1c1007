"""A damaged artefact is never read: each flipped bit, cut, lost or exchanged file is noticed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.files import ArtefactError, read_artefact, write_artefact
from unmixnet.files.artefact_format import parse_manifest

from .bundles import SOUND, bundle, container, forge, manifest, slot
from .damage import ACCIDENTS, undetected


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    write_artefact(tmp_path / "sound", bundle(floats=300_000))
    return tmp_path / "sound"


def test_a_hundred_accidents_are_all_detected(sound: Path):
    assert undetected(sound, 100, seed=0) == []


@pytest.mark.soak
def test_two_thousand_accidents_are_all_detected(sound: Path, measured):
    passed = undetected(sound, 2000, seed=1)
    measured("corrupted bundles", 2000)
    measured("corrupted bundles that were read", len(passed))
    assert passed == []


def test_twin_without_hashes_accidents_pass(sound: Path, monkeypatch):
    monkeypatch.setattr("unmixnet.files.artefact._verified", lambda place, entry: (place / entry.name).read_bytes())
    assert undetected(sound, 30, seed=0)


@pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: accident.__name__)
def test_every_kind_of_accident_changes_the_folder(accident: Callable, sound: Path):
    before = {path.name: path.read_bytes() for path in sound.iterdir()}
    for seed in range(5):
        damaged = sound.with_name(f"damaged-{seed}")
        shutil.copytree(sound, damaged)
        accident(damaged, np.random.default_rng(seed))
        assert {path.name: path.read_bytes() for path in damaged.iterdir()} != before


def test_every_bit_of_the_manifest_counts():
    raw = manifest(SOUND)
    assert parse_manifest(raw, "manifest.json").kind == "bundle"
    for bit in range(8 * len(raw)):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ArtefactError):
            parse_manifest(bytes(flipped), "manifest.json")


def refused_or_sound(folder: Path) -> str:
    """Hashes are right here, so some changes are harmless; but nothing else than our error may come out."""
    try:
        artefact = read_artefact(folder)
    except ArtefactError as error:
        assert error.where and error.remedy and str(error).isprintable()
        return "refused"
    for array in artefact.tensors.values():
        assert array.size * array.itemsize == array.nbytes
    return "read"


def test_damage_under_right_hashes_meets_only_our_own_error(tmp_path: Path):
    rng = np.random.default_rng(3)
    write_artefact(tmp_path / "sound", bundle(floats=30))
    files = {path.name: path.read_bytes() for path in (tmp_path / "sound").iterdir() if path.name != "manifest.json"}
    outcomes = []
    for number in range(200):
        name = ("weights.safetensors", "config.json", "card.md")[number % 3]
        raw = bytearray(files[name])
        for at in rng.integers(0, min(len(raw), 700), int(rng.integers(1, 4))):
            raw[at] = int(rng.choice([rng.integers(256), *b'{}[]",:-0e\\']))
        folder = forge(tmp_path / str(number), {**files, name: bytes(raw)})
        outcomes.append(refused_or_sound(folder))
        shutil.rmtree(folder)
    assert outcomes.count("refused") > 50 and outcomes.count("read") > 5


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
NUMBER = st.sampled_from([0, 1, 2, 4, 8, 16, 2**31, 2**63, 2**64, 2**70, -1, 1.0, True, "4", None])
ENTRY = st.builds(
    slot, st.sampled_from(["F32", "U8", "BOOL", "F16", "x", 4, []]), st.lists(NUMBER, max_size=3), NUMBER, NUMBER
)


@given(st.dictionaries(st.text(max_size=3), ENTRY | JSON, max_size=3) | JSON, st.binary(max_size=17))
def test_any_header_is_read_or_refused(tmp_path_factory, header, data: bytes):
    folder = tmp_path_factory.mktemp("any") / "bundle"
    assert refused_or_sound(forge(folder, {**SOUND, "weights.safetensors": container(header, data)}))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw: bytes):
    for name in ("weights.safetensors", "config.json", "notes.txt"):
        folder = tmp_path_factory.mktemp("any") / "bundle"
        assert refused_or_sound(forge(folder, {**SOUND, name: raw}))


@given(JSON)
def test_any_manifest_is_refused(tmp_path_factory, value):
    folder = forge(tmp_path_factory.mktemp("any") / "bundle", SOUND)
    (folder / "manifest.json").write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(ArtefactError):
        read_artefact(folder)

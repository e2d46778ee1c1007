"""Files made to do harm are refused, quickly, in little memory, and without being run."""

import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from unmixnet.files import ArtefactError, read_artefact, write_artefact
from unmixnet.files.tensors import check_header

from .attacks import ATTACKS, MARKER, Attack
from .bundles import SOUND, bundle, forge

MOST_SECONDS = 2.0
MOST_MEMORY = 64 << 20


@pytest.mark.parametrize(("reason", "attack"), ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_is_refused_for_what_it_is(reason: str, attack: Attack, tmp_path: Path):
    attack(tmp_path / "bundle")
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ArtefactError) as caught:
        read_artefact(tmp_path / "bundle")
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reason in caught.value.problem
    assert caught.value.where.startswith(str(tmp_path)) and caught.value.remedy and str(caught.value).isprintable()
    assert seconds < MOST_SECONDS and peak < MOST_MEMORY
    assert not (tmp_path / MARKER).exists()


def test_twin_the_forger_is_believed_when_the_files_are_harmless(tmp_path: Path):
    artefact = read_artefact(forge(tmp_path / "bundle", SOUND))
    assert artefact.documents == {"config.json": {"a": 1}}
    np.testing.assert_array_equal(artefact.tensors["w"], np.zeros(2, np.float32))


def test_twin_the_pickle_is_live(tmp_path: Path):
    import pickle

    ATTACKS["a pickle"][1](tmp_path / "bundle")
    pickle.loads((tmp_path / "bundle" / "weights.safetensors").read_bytes())
    assert (tmp_path / MARKER).exists()


HEADER_ATTACKS = ("a truth value of 7", "metadata in the header", "a name that moves the cursor")


@pytest.mark.parametrize("name", HEADER_ATTACKS)
def test_twin_without_our_header_check_an_attack_passes(name: str, tmp_path: Path, monkeypatch):
    ATTACKS[name][1](tmp_path / "bundle")
    monkeypatch.setattr("unmixnet.files.tensors.check_header", lambda raw, where: ())
    assert read_artefact(tmp_path / "bundle").tensors


@pytest.mark.parametrize("name", ["a pickle", "a name with ..", "a sub-folder", "an extra file"])
def test_a_refusal_leaves_the_folder_alone(name: str, tmp_path: Path):
    ATTACKS[name][1](tmp_path / "bundle")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ArtefactError):
        read_artefact(tmp_path / "bundle")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_limit_is_checked_before_the_bytes_are_read(tmp_path: Path):
    write_artefact(tmp_path / "large", bundle(floats=300_000))
    tracemalloc.start()
    with pytest.raises(ArtefactError, match="max_bytes"):
        read_artefact(tmp_path / "large", max_bytes=1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
    assert read_artefact(tmp_path / "large", max_bytes=2_000_000).kind == "bundle"


def test_what_the_library_writes_passes_its_own_header_check(tmp_path: Path):
    write_artefact(tmp_path / "sound", bundle())
    slots = check_header((tmp_path / "sound" / "weights.safetensors").read_bytes(), "weights")
    assert {slot.name for slot in slots} == bundle().tensors.keys()

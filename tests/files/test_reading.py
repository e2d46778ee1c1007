"""Reading begins again when a writer came between, and only then, and needs no jax."""

import subprocess
import sys
from pathlib import Path

import pytest

from unmixnet.files import ArtefactError, read_artefact, write_artefact
from unmixnet.files import artefact as reading
from unmixnet.files.replacement import outgoing

from .bundles import bundle


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_artefact(tmp_path / "model", bundle(1))
    return tmp_path / "model"


@pytest.fixture
def looks(model: Path, monkeypatch) -> list[str]:
    """The files that are looked at; before the second one, a writer replaces the artefact."""
    seen: list[str] = []
    verified = reading._verified

    def interrupted(place: Path, entry) -> bytes:
        seen.append(entry.name)
        if len(seen) == 2:
            write_artefact(model, bundle(2))
        return verified(place, entry)

    monkeypatch.setattr(reading, "_verified", interrupted)
    return seen


def test_a_replacement_in_the_middle_of_reading_gives_the_new_artefact(model: Path, looks: list[str]):
    assert int(read_artefact(model).tensors["step"]) == 2
    assert looks.count("card.md") == 2, "it was read in two attempts"


@pytest.mark.usefixtures("looks")
def test_twin_without_beginning_again_the_mixture_is_refused(model: Path, monkeypatch):
    monkeypatch.setattr(reading, "_standing", lambda path: ())
    with pytest.raises(ArtefactError):
        read_artefact(model)


def test_damage_is_reported_at_the_first_reading(model: Path, monkeypatch):
    (model / "card.md").write_text("changed")
    attempts = []
    read = reading._read
    monkeypatch.setattr(reading, "_read", lambda *arguments: (attempts.append(1), read(*arguments))[1])
    with pytest.raises(ArtefactError, match=r"card\.md"):
        read_artefact(model)
    assert len(attempts) == 1


def test_the_old_artefact_is_no_excuse_for_a_damaged_new_one(model: Path):
    write_artefact(outgoing(model), bundle(0))
    (model / "card.md").unlink()
    with pytest.raises(ArtefactError, match="is missing"):
        read_artefact(model)


def test_a_bundle_is_read_without_jax():
    code = "import sys, safetensors.numpy; from unmixnet.files import read_artefact; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "unmixnet.files.artefact" in loaded
    assert not {"jax", "torch", "pandas", "scipy"} & set(loaded)

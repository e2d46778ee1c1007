"""Bundles are found by name or place, and an error lists what there is."""

from pathlib import Path

import pytest

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import bundle as find
from unmixnet.inference.bundle.bundle import find_bundle, packaged


def bundle_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_a_folder_is_found_by_its_place(tmp_path):
    made = bundle_in(tmp_path / "mine")
    assert find_bundle(made) == made and find_bundle(str(made)) == made


def test_the_folder_of_a_training_leads_to_its_bundle(tmp_path):
    made = bundle_in(tmp_path / "run" / "bundle")
    assert find_bundle(tmp_path / "run") == made


def test_a_packaged_name_is_not_hidden_by_a_folder_of_that_name(tmp_path, monkeypatch):
    shipped = bundle_in(tmp_path / "shipped" / "default")
    monkeypatch.setattr(find, "packaged", lambda: {"default": shipped})
    monkeypatch.chdir(tmp_path)
    bundle_in(tmp_path / "default")
    assert find_bundle("default") == shipped
    assert find_bundle("./default").resolve() == (tmp_path / "default")


def test_an_unknown_name_is_answered_with_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(find, "packaged", lambda: {"first": tmp_path, "second": tmp_path})
    with pytest.raises(ConfigError, match="no bundle 'nose': packaged are first, second"):
        find_bundle("nose")


def test_packaged_bundles_are_small():
    for folder in packaged().values():
        assert sum(file.stat().st_size for file in folder.iterdir()) <= 8e6

"""The data folder, or a reason to skip."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    chosen = os.environ.get("UNMIXNET_DATA")
    if not chosen or not (Path(chosen) / "smellnet").is_dir():
        pytest.skip("needs SmellNet: set UNMIXNET_DATA to a folder that holds smellnet/")
    return Path(chosen)

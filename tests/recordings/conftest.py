"""Shared data for the tests of reading; absent data skips, with the reason."""

from pathlib import Path

import pytest


@pytest.fixture
def store_evidence():
    """Store what a long count found under studies/results, with commit, date, machine and command."""
    from studies.tables import __main__ as tables
    from studies.tables.markdown import store

    yield lambda name, results: store(name, "make soak", results)
    tables.main()


@pytest.fixture(scope="session")
def smellnet(data_folder: Path) -> Path:
    if not (data_folder / "smellnet").is_dir():
        pytest.skip("the data folder has no smellnet/")
    return data_folder / "smellnet"

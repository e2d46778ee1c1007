"""Shared data for the tests of reading; absent data skips, with the reason."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long counts to `make soak`, which asks for them by their mark."""
    if "soak" not in (config.option.markexpr or ""):
        long = [item for item in items if item.get_closest_marker("soak")]
        if long:
            config.hook.pytest_deselected(items=long)
            items[:] = [item for item in items if item not in long]


@pytest.fixture
def store_evidence():
    """Store what a long count found under benchmarks/results, with commit, date, machine and command."""
    from benchmarks import tables
    from benchmarks.provenance import store

    yield lambda name, results: store(name, "make soak", results, sources="src/unmixnet/data")
    tables.main()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    chosen = os.environ.get("UNMIXNET_DATA")
    if not chosen or not Path(chosen).is_dir():
        pytest.skip("UNMIXNET_DATA does not point at the data sets")
    return Path(chosen)


@pytest.fixture(scope="session")
def smellnet(data_folder: Path) -> Path:
    if not (data_folder / "smellnet").is_dir():
        pytest.skip("the data folder has no smellnet/")
    return data_folder / "smellnet"

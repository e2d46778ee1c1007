"""One server for the tests that leave it as they found it."""

import pytest

from .serving import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Served:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running

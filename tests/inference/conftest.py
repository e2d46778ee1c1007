"""Bundles that several tests look at, made once."""

import pytest

from tests.inference.bundle import tiny
from tests.inference.bundle.tiny import shared_home  # noqa: F401
from unmixnet.inference.bundle import Bundle


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return tiny.bundle()

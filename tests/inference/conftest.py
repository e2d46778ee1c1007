"""Bundles that several tests look at, made once."""

import pytest

from bundle import tiny
from bundle.tiny import shared_home  # noqa: F401
from unmixnet.bundle import Bundle


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return tiny.bundle()

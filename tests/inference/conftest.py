"""Bundles that several tests look at, made once."""

import pytest

from bundle import tiny
from unmixnet.bundle import Bundle


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return tiny.bundle()

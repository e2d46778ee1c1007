"""Bundles that several tests look at, made once."""

import pytest

from unmixnet.inference.bundle import Bundle

from . import tiny
from .tiny import shared_home  # noqa: F401


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return tiny.bundle()

"""The folder that tests of commands share with those of bundles."""

from tests.inference.bundle.tiny import shared_home  # noqa: F401

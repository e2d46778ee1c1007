"""The folder of recordings that several tests of training read."""

from tests.inference.bundle.tiny import shared_home  # noqa: F401

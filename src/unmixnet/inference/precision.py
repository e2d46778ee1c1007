"""Answers are single precision whatever the session's setting, so that a bundle says the same everywhere."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax

__all__ = ["single_precision"]


@contextmanager
def single_precision() -> Iterator[None]:
    """Within this context jax makes float32 arrays."""
    with jax.enable_x64(False):
        yield

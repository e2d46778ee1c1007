"""A live server beside the test: started, its link read, stopped."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def linked(command: Sequence[str], **how: Any) -> Iterator[str]:
    """The link that the command prints first; the server stops afterwards."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how)
    assert running.stdout is not None
    try:
        yield running.stdout.readline().strip()
    finally:
        running.terminate()
        running.wait(30)

"""A file that appears complete or not at all: written beside its place, closed, on the disk, then renamed."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unmixnet.errors import UnmixError

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary place beside `path`; what is written there takes the name `path` when the block ends well."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)
    except OSError as error:
        why = error.strerror or str(error)
        remedy = "Check the space on the disk and the permissions of the folder"
        raise UnmixError(f"the file cannot be written ({why})", where=str(path), remedy=remedy) from None
    finally:
        with suppress(OSError):
            part.unlink()

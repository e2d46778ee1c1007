"""Opening and reading files from untrusted paths: plain files only, and never more than a stated size."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from unmixnet.errors import ConfigError

__all__ = ["open_file", "read_bytes", "read_text"]

LARGEST_TEXT = 16 << 20
"""Most bytes of a configuration or a document."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_file(path: str | Path) -> BufferedReader:
    """Open a plain file for reading, or raise an `OSError` that names what is there instead.

    A pipe without a writer, which would be waited for, and a device without an end are refused at once; a link is
    followed, and what it leads to is judged.
    """
    try:
        file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - the caller closes it
    except ValueError as error:  # a NUL character in the path
        raise OSError(errno.EINVAL, str(error)) from None
    except OSError as error:
        # Neither a socket nor a device without a driver can be opened: ENXIO says little to people.
        raise OSError(error.errno, _kind(path) or error.strerror or str(error)) from None
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        raise OSError(errno.EINVAL, _kind_of(mode) or "not a plain file")
    return file


def read_bytes(path: str | Path, most: int = LARGEST_TEXT) -> bytes:
    """All bytes of a plain file of at most `most` bytes; raises an `OSError` otherwise."""
    with open_file(path) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes")
    return raw


def read_text(path: str | Path) -> str:
    """The text of a configuration or document in UTF-8."""
    try:
        return read_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        remedy = f"Name a text file of at most {LARGEST_TEXT >> 20} MB that you may read"
        raise ConfigError(f"cannot be read ({why})", where=str(path), remedy=remedy) from None


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _kind(path: str | Path) -> str:
    try:
        return _kind_of(os.stat(path).st_mode)
    except OSError:
        return ""


def _kind_of(mode: int) -> str:
    return next((f"{kind}, not a file" for is_kind, kind in _KINDS if is_kind(mode)), "")

"""Compiled programs are kept between commands: the second run of a command does not wait for the compiler."""

import os
import sys
from pathlib import Path

__all__ = ["keep_programs", "program_folder"]

_MOST_BYTES = 2**30
"""The oldest programs beyond this are removed."""


def program_folder() -> Path:
    """`xla` in UNMIXNET_CACHE, else in the user's cache folder."""
    chosen = os.environ.get("UNMIXNET_CACHE")
    home = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unmixnet"
    return home / "xla"


def keep_programs() -> None:
    """Set, before jax is imported, where it keeps what takes a second or longer to compile.

    JAX_COMPILATION_CACHE_DIR chooses another folder, UNMIXNET_NO_CACHE switches it off, and a folder that cannot be
    written is done without: a cache is never a reason to fail.
    """
    if os.environ.get("UNMIXNET_NO_CACHE") or "JAX_COMPILATION_CACHE_DIR" in os.environ or "jax" in sys.modules:
        return
    try:
        folder = program_folder()
        if _writable(folder):
            _prune(folder)
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
            os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1")
    except (OSError, RuntimeError):
        # Path.home() raises RuntimeError where there is none
        return


def _writable(folder: Path) -> bool:
    """Whether it is, or could be made, a folder to write to; nothing is made yet, since `--help` compiles nothing."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _prune(folder: Path, most_bytes: int = _MOST_BYTES) -> None:
    """Remove the oldest files until the rest fits."""
    if not folder.is_dir():
        return
    programs = sorted(((entry.stat(), entry.path) for entry in os.scandir(folder)), key=lambda pair: pair[0].st_mtime)
    size = sum(stat.st_size for stat, _ in programs)
    for stat, path in programs:
        if size <= most_bytes:
            return
        os.unlink(path)
        size -= stat.st_size

"""Commands run inside the test's process (compiled programs are kept) or beside it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmixnet.cli import main


def inside(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Exit code of a command; what it printed is in capsys."""
    monkeypatch.setattr(sys, "argv", ["unmixnet", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def beside(arguments: list[str], programs: Path) -> subprocess.Popen:
    """A command as a process of its own, in a group of its own, with compiled programs kept in a folder."""
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(programs),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
    }
    command = [sys.executable, "-m", "unmixnet", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

"""Commands run inside the test's process (compiled programs are kept) or beside it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def json_object(printed: str) -> dict[str, Any]:
    """The one object that a command printed with --json: it has a schema, and no name of a field has a space."""
    value = json.loads(printed)
    assert isinstance(value, dict) and re.fullmatch(r"unmixnet\.[a-z-]+/\d+", value.get("schema", "")), printed[:80]
    spaced = [key for key in _keys(value) if re.search(r"\s", key)]
    assert not spaced, spaced
    return value


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _keys(part)

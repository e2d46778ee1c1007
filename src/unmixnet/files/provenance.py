"""Where a number comes from: commit, date, machine, versions and command, at the head of every result file."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["provenance"]

_VERSIONS = ("jax", "jaxlib", "numpy", "scipy", "scikit-learn")


def provenance(command: str, **more: Any) -> dict[str, Any]:
    """The head of a result file."""
    return {
        "command": command,
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count() or 0,
            "memory_GB": _memory_GB(),
            "system": platform.system(),
            "python": platform.python_version(),
            **{name: version(name) for name in _VERSIONS},
        },
        **more,
    }


def _commit() -> str:
    """Commit of the sources, with "+" if they were changed since; "unknown" outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
    except OSError:
        return "unknown"
    return commit + ("+" if changed else "") if commit else "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory_GB() -> float:
    try:
        return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    except (ValueError, OSError):
        return 0.0

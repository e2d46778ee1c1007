"""Where a result comes from: commit, date, machine, versions, command."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["provenance"]

_VERSIONS = ("unmixnet", "jax", "jaxlib", "numpy", "scipy", "scikit-learn")


def provenance(command: str) -> dict[str, Any]:
    """The head of every results file."""
    return {
        "command": command,
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "memory_GB": round(_memory() / 2**30, 1),
            "system": platform.system(),
        },
        "versions": {"python": platform.python_version()} | {name: version(name) for name in _VERSIONS},
    }


def _commit() -> str:
    """Commit of the source tree, marked if it had changes; "unknown" outside of one."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=here, capture_output=True, text=True)
        changes = subprocess.run(
            ["git", "status", "--porcelain", "src"], cwd=here.parents[1], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    if head.returncode:
        return "unknown"
    return head.stdout.strip() + ("+changes" if changes.stdout.strip() else "")


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or sys.platform


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0

"""Where and from what a result was measured: commit, date, processor, memory, versions."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

__all__ = ["machine"]


def machine() -> dict:
    """Top-level entries that every result file carries."""
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "load": round(os.getloadavg()[0], 2),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            **{name: version(name) for name in ("jax", "jaxlib", "numpy", "scipy")},
        },
        "command": " ".join(["unmixnet", *sys.argv[1:]]),
    }


def _commit() -> str:
    """Commit of the source tree, with a plus sign if files differ from it; empty outside a repository."""

    def git(*arguments: str) -> str:
        place = Path(__file__).parent
        result = subprocess.run(["git", "-C", str(place), *arguments], capture_output=True, text=True, check=False)
        return result.stdout.strip()

    return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no", "--", ".") else "")


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")

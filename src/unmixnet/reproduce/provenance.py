"""Where a number comes from: commit, date, machine and command."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["provenance"]


def provenance(command: str, **more: object) -> dict[str, object]:
    """The head of a result file."""
    return {
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count() or 0,
            "system": platform.system(),
            "python": platform.python_version(),
        },
        "command": command,
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
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..")
    except OSError:
        return "unknown"
    return commit + ("+" if changed else "") if commit else "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()

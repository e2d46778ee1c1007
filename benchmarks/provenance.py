"""Where a number comes from: commit, date, machine and command, stored beside every result."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["RESULTS", "store"]

RESULTS = Path(__file__).parent / "results"


def store(name: str, command: str, results: dict, *, sources: str = "src") -> Path:
    """Write benchmarks/results/NAME.json.

    Arguments:
        name: of the result.
        command: what a reader runs to get it again.
        results: the numbers.
        sources: folder that they depend on; a "+" after the commit says that it was changed since.
    """
    record = {
        "schema": f"unmixnet.benchmark.{name}/1",
        "commit": _commit(sources),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": _machine(),
        "command": command,
        "results": results,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=2) + "\n")
    return path


def _commit(sources: str) -> str:
    """Commit of the sources, with "+" if they were changed since."""
    here = Path(__file__).parents[1]

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=here, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git("status", "--porcelain", "--", sources)
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def _machine() -> dict[str, str | int]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()

"""The audit of SmellNet, in the numbers that the documentation quotes: `unmixnet reproduce audit`."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from unmixnet.audit import AuditReport, Kind, audit_folder
from unmixnet.audit.statements import headline
from unmixnet.data.datasets import load

__all__ = ["reproduce_audit", "summary"]

FOLDERS = {"smellnet-mixture": "mixture_data", "smellnet-base": "base_data"}
Progress = Callable[[str, int], Callable[[], None]]


def reproduce_audit(
    root: str | Path | None, *, progress: Progress = lambda name, steps: lambda: None
) -> dict[str, dict[str, object]]:
    """Audit both parts of SmellNet."""
    return {
        name: summary(audit_folder(load(name, root).root / folder, progress=progress))
        for name, folder in FOLDERS.items()
    }


def summary(report: AuditReport) -> dict[str, object]:
    """A report without its list of files."""
    unique = [verdict for verdict in report.verdicts if verdict.copy_of is None]
    return {
        "headline": headline(report),
        "files": len(report.verdicts),
        "distinct": len(unique),
        "measured": sum(verdict.clean for verdict in report.verdicts),
        "kinds": {str(kind): sum(verdict.kind is kind for verdict in unique) for kind in Kind},
        "tied to a parent": sum(verdict.parent is not None for verdict in unique),
        "conflicting labels": sum(bool(verdict.conflicts) for verdict in report.verdicts),
        "labels that do not sum to 100": sum(verdict.ratio_sum is not None for verdict in report.verdicts),
        "unhealthy": dict(Counter(what for verdict in report.verdicts for what in verdict.unhealthy)),
        "sessions": len(report.sessions),
        "splits": [dataclasses.asdict(split) for split in report.splits],
        "proximity": [dataclasses.asdict(item) for item in report.proximity],
        "leaks": [dataclasses.asdict(leak) for leak in report.leaks],
    }

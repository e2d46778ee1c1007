"""The audit of SmellNet, in the numbers that the documentation quotes: `python -m studies audit`."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from unmixnet.inference.fingerprints import pure_fingerprints
from unmixnet.recordings.audit import AuditReport, Kind, audit_folder
from unmixnet.recordings.audit.statements import headline
from unmixnet.recordings.coherence import coherence
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.fingerprints import Fingerprints

__all__ = ["reproduce_audit", "summary"]

FOLDERS = {"smellnet-mixture": "mixture_data", "smellnet-base": "base_data"}
BASELINES = {"smellnet-mixture": "none", "smellnet-base": "recording"}
"""Mixtures start exposed; base recordings start in air."""
Progress = Callable[[str, int], Callable[[], None]]


def reproduce_audit(
    root: str | Path | None, *, progress: Progress = lambda name, steps: lambda: None
) -> dict[str, dict[str, object]]:
    """Audit both parts of SmellNet, and compute which components each array can distinguish."""
    summaries = {}
    for name, folder in FOLDERS.items():
        report = audit_folder(load_dataset(name, root).root / folder, progress=progress)
        prints = pure_fingerprints(name, root, baseline=BASELINES[name])
        summaries[name] = {**summary(report), "coherence": _coherence(prints)}
    return summaries


def _coherence(prints: Fingerprints) -> dict[str, object]:
    result = coherence(prints)
    return {
        "components": len(prints.components),
        "mu_raw": result.mu_raw,
        "mu_whitened": result.mu_whitened,
        "guaranteed": result.guaranteed,
        "confusable": result.confusable(),
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

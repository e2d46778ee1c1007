"""`python -m studies simulated|smellnet`: run studies, or score the predictions that an earlier run stored."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.harness.definitions import Study
from studies.harness.pairs import paired, scored_answers
from studies.harness.predictions import Answers, read_predictions, recording_rows
from studies.harness.results import collect
from studies.harness.run import Options, Watch, idle, jobs_of, run_jobs
from studies.harness.variants import Classical
from studies.harness.work import Work
from studies.peers.models import PEERS
from studies.simulator.simulated import simulated_extras
from unmixnet.errors import ConfigError
from unmixnet.files.provenance import provenance

__all__ = ["Evidence", "agreement", "from_predictions", "gather", "statements"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a command found: the object that is stored as JSON, and the predictions beside it."""

    result: dict[str, Any]
    answers: list[Answers]


def gather(
    command: str,
    studies: Sequence[Study],
    root: str | Path | None,
    work: Work,
    options: Options,
    watch: Watch | None = None,
    *,
    finished: bool = False,
) -> Evidence:
    """Run what is missing of the studies and collect everything; with `finished`, only collect."""
    jobs = jobs_of(studies, root, options)
    if not jobs:
        raise ConfigError("the chosen models change nothing in this recipe", remedy="Run unmixnet itself")
    failures = [] if finished else run_jobs(jobs, work, root, options, watch)
    found = collect(jobs, work)
    extras = simulated_extras(jobs, work, options) if jobs[0].turn.data.name.startswith("simulated") else None
    rows = [dataclasses.asdict(row) for row in (*found.rows, *(extras.rows if extras else ()))]
    result = provenance(
        command,
        quick=options.quick,
        size=options.size,
        seeds=options.seeds,
        models=statements(studies),
        facts=[dataclasses.asdict(facts) for facts in found.facts],
        failures=[dataclasses.asdict(failure) for failure in failures],
        missing=found.missing,
        idle={study.name: idle(study, options) for study in studies},
        **(extras.values if extras else {}),
        pairs=[dataclasses.asdict(pair) for pair in paired([*scored_answers(found.answers), *found.scored])],
        rows=rows,
    )
    return Evidence(result, found.answers)


def from_predictions(command: str, predictions: Path, stored: Path) -> dict[str, Any]:
    """Rows per recording, computed again from stored predictions, and how far they are from the stored rows."""
    rows = [dataclasses.asdict(row) for row in recording_rows(read_predictions(predictions))]
    before = json.loads(stored.read_text())["rows"] if stored.is_file() else []
    return provenance(command, predictions=str(predictions), agreement=agreement(rows, before), rows=rows)


def agreement(rows: Sequence[dict[str, Any]], stored: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many rows have a stored one, and the largest difference of a mean."""
    keys = ("protocol", "split", "level", "model", "metric")
    before = {tuple(row[key] for key in keys): row["mean"] for row in stored}
    pairs = [(row["mean"], before[key]) for row in rows if (key := tuple(row[name] for name in keys)) in before]
    return {
        "rows": len(rows),
        "compared": len(pairs),
        "largest difference": max((abs(a - b) for a, b in pairs), default=None),
    }


def statements(studies: Sequence[Study]) -> dict[str, str]:
    """For each model, what it is and what is to be known of it, in the first study that has it."""
    said: dict[str, str] = {}
    for variant in (variant for study in studies for variant in study.variants):
        if isinstance(variant, Classical):
            peer = PEERS[variant.peer]
            said.setdefault(variant.name, f"{peer.features.name}; {peer.how}")
        else:
            changes = getattr(variant, "changes", {})
            told = [f"{key} = {value}" for key, value in changes.items()]
            said.setdefault(variant.name, "; ".join([*told, *filter(None, [variant.note])]))
    return said

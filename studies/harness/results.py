"""From finished jobs to what is stored: rows, predictions per recording, and facts about every model."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from studies.harness.definitions import Study
from studies.harness.jobs import Options, idle, jobs_of, task_of
from studies.harness.predictions import (
    TRUTH,
    ModelAnswers,
    Scored,
    committee,
    paired,
    read_predictions,
    recording_rows,
    scored,
    scored_answers,
)
from studies.harness.progress import Reporter
from studies.harness.run import run_jobs
from studies.harness.variants import Classical, Network, Variant
from studies.harness.work import Finished, Job, Work
from studies.peers.models import PEERS
from studies.simulator.simulated import simulated_extras
from unmixnet.errors import ConfigError
from unmixnet.files.provenance import provenance
from unmixnet.inference.scores import Row, score
from unmixnet.recordings.protocols import NAMES, Piece
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["Collected", "ModelFacts", "StudyResult", "agreement", "collect", "from_predictions", "gather", "statements"]


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model in a study, means over folds and seeds."""

    study: str
    model: str
    parameters: int
    epochs: float
    validation: float | None
    seconds: float
    iterations: float | None
    runs: int
    commits: tuple[str, ...]
    note: str


@dataclass(frozen=True, eq=False)
class Collected:
    """Results of all finished jobs."""

    rows: list[Row]
    answers: list[ModelAnswers]
    facts: list[ModelFacts]
    scored: list[Scored]
    """Per window; recordings can be scored from the answers."""
    missing: list[str]
    """Models that are not finished on every fold, as "study: model"; they have no rows."""


def collect(jobs: Sequence[Job], work: Work) -> Collected:
    """Rows, predictions and facts of all jobs that are finished."""
    everything = Collected([], [], [], [], [])
    for study in dict.fromkeys(job.study for job in jobs):
        mine = [job for job in jobs if job.study is study]
        everything.answers.extend(_truths(study, mine))
        for variant in study.variants:
            runs = {(job.fold.name, job.seed): (job, work.read(job)) for job in mine if job.variant is variant}
            if runs:
                _add(everything, study, variant, runs)
    everything.rows[:0] = recording_rows(everything.answers)
    return everything


def _add(
    into: Collected, study: Study, variant: Variant, runs: dict[tuple[str, int], tuple[Job, Finished | None]]
) -> None:
    """One model of a study: seeds that are finished on every fold count."""
    folds = list(dict.fromkeys(fold for fold, _ in runs))
    seeds = [s for s in dict.fromkeys(seed for _, seed in runs) if all(runs[fold, s][1] for fold in folds)]
    if not seeds:
        into.missing.append(f"{study.name}: {variant.name}")
        return
    task = task_of(study)
    for protocol in study.protocols:
        per_seed = [[_whole(runs[fold, seed], protocol) for fold in folds] for seed in seeds]
        joined = [_joined(parts) for parts in per_seed]
        split = next(iter(runs.values()))[0].fold.splits[protocol]
        guesses, test, resample = [values for values, _ in joined], joined[0][1], NAMES[protocol][1]
        predictions = {variant.name: dict(zip(seeds, guesses, strict=True))}
        if isinstance(variant, Network) and len(seeds) > 1:
            predictions[committee(variant.name)] = {0: np.mean(guesses, axis=0)}
        for model, by_seed in predictions.items():
            for seed, values in by_seed.items():
                means = per_recording(values, test.recordings).astype(np.float32)
                into.answers.append(_answers(study, protocol, split, task, model, seed, test, means))
            if "window" in variant.levels:
                mine, place = [*by_seed.values()], (protocol, split, "window")
                names = protocol, split, model
                into.rows.extend(score(task, mine, test, names=names, resample=resample, level="window"))
                into.scored.append(scored(task, mine, test, place=place, model=model, resample=resample))
    done = [result.facts for (fold, seed), (_, result) in runs.items() if result is not None and seed in seeds]
    scores = [facts.validation for facts in done if facts.validation is not None]
    steps = [facts.iterations for facts in done if facts.iterations is not None]
    into.facts.append(
        ModelFacts(
            study.name,
            variant.name,
            done[0].parameters,
            fmean(facts.epochs for facts in done),
            fmean(scores) if scores else None,
            fmean(facts.seconds for facts in done),
            fmean(steps) if steps else None,
            len(done),
            tuple(dict.fromkeys(facts.commit for facts in done)),
            variant.note,
        )
    )


def _whole(run: tuple[Job, Finished | None], protocol: str) -> tuple[np.ndarray, Samples]:
    """Window predictions of one fold, with their labels."""
    job, result = run
    assert result is not None
    guess, pieces = result.guesses[protocol], job.fold.tests[protocol]
    chosen = [pieces[i] for i in guess.owner]
    return np.asarray(guess.values, float), _labels(chosen, job.fold.data.components)


def _labels(pieces: Sequence[Piece], components: Sequence[str]) -> Samples:
    targets = np.array([piece.label.vector(components) for piece in pieces if piece.label], np.float32)
    supports = tuple("+".join(sorted(piece.label.support)) for piece in pieces if piece.label)
    return Samples(np.zeros((len(pieces), 1, 1)), targets.astype(float), tuple(p.path for p in pieces), supports)


def _joined(parts: Sequence[tuple[np.ndarray, Samples]]) -> tuple[np.ndarray, Samples]:
    values = np.concatenate([values for values, _ in parts])
    samples = [sample for _, sample in parts]
    return values, Samples(
        np.zeros((len(values), 1, 1)),
        np.concatenate([sample.targets for sample in samples]),
        tuple(name for sample in samples for name in sample.recordings),
        tuple(name for sample in samples for name in sample.supports),
    )


def _truths(study: Study, jobs: Sequence[Job]) -> list[ModelAnswers]:
    folds, task, collected = {job.fold.name: job.fold for job in jobs}.values(), task_of(study), []
    for protocol in study.protocols:
        parts = [_labels(fold.tests[protocol], fold.data.components) for fold in folds]
        values, samples = _joined([(part.targets, part) for part in parts])
        split = next(iter(folds)).splits[protocol]
        collected.append(_answers(study, protocol, split, task, TRUTH, 0, samples, values.astype(np.float32)))
    return collected


def _answers(
    study: Study,
    protocol: str,
    split: str,
    task: Task,
    model: str,
    seed: int,
    samples: Samples,
    values: np.ndarray,
) -> ModelAnswers:
    """Predictions of recordings; `samples` may hold several windows of each."""
    support = dict(zip(samples.recordings, samples.supports, strict=True))
    return ModelAnswers(study.name, protocol, split, task, model, seed, tuple(support), tuple(support.values()), values)


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Result of a command: the object that is stored as JSON, and the predictions beside it."""

    result: dict[str, Any]
    answers: list[ModelAnswers]


def gather(
    command: str,
    studies: Sequence[Study],
    root: str | Path | None,
    work: Work,
    options: Options,
    watch: Reporter | None = None,
    *,
    finished: bool = False,
) -> StudyResult:
    """Run what is missing of the studies and collect everything; with `finished`, only collect."""
    jobs = jobs_of(studies, root, options)
    if not jobs:
        raise ConfigError("the chosen models change nothing in this recipe", remedy="Run unmixnet itself")
    failures = [] if finished else run_jobs(jobs, work, root, options, watch)
    collected = collect(jobs, work)
    extras = simulated_extras(jobs, work, options) if jobs[0].fold.data.name.startswith("simulated") else None
    rows = [dataclasses.asdict(row) for row in (*collected.rows, *(extras.rows if extras else ()))]
    result = provenance(
        command,
        quick=options.quick,
        size=options.size,
        seeds=options.seeds,
        models=statements(studies),
        facts=[dataclasses.asdict(facts) for facts in collected.facts],
        failures=[dataclasses.asdict(failure) for failure in failures],
        missing=collected.missing,
        idle={study.name: idle(study, options) for study in studies},
        **(extras.values if extras else {}),
        pairs=[dataclasses.asdict(pair) for pair in paired([*scored_answers(collected.answers), *collected.scored])],
        rows=rows,
    )
    return StudyResult(result, collected.answers)


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
    """For each model, its description and notes, from the first study that has it."""
    notes: dict[str, str] = {}
    for variant in (variant for study in studies for variant in study.variants):
        if isinstance(variant, Classical):
            peer = PEERS[variant.peer]
            notes.setdefault(variant.name, f"{peer.features.name}; {peer.how}")
        else:
            changes = getattr(variant, "changes", {})
            by_seed = [f"{key} = {value}" for key, value in changes.items()]
            notes.setdefault(variant.name, "; ".join([*by_seed, *filter(None, [variant.note])]))
    return notes

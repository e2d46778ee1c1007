"""From finished jobs to what is stored: rows, predictions per recording, and facts about every model."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from studies.harness.definitions import Study
from studies.harness.pairs import Scored, committee, scored
from studies.harness.predictions import TRUTH, Answers, recording_rows
from studies.harness.run import task_of
from studies.harness.variants import Network, Variant
from studies.harness.work import Finished, Job, Work
from unmixnet.inference.scores import Row, score
from unmixnet.recordings.protocols import NAMES, Piece
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["Collected", "ModelFacts", "collect"]


@dataclass(frozen=True)
class ModelFacts:
    """What is to be known of a model in a study, means over turns and seeds."""

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
    """Everything that finished jobs tell."""

    rows: list[Row]
    answers: list[Answers]
    facts: list[ModelFacts]
    scored: list[Scored]
    """Per window; recordings can be scored from the answers."""
    missing: list[str]
    """Models that are not finished on every turn, as "study: model"; they have no rows."""


def collect(jobs: Sequence[Job], work: Work) -> Collected:
    """Rows, predictions and facts of all jobs that are finished."""
    everything = Collected([], [], [], [], [])
    for study in dict.fromkeys(job.study for job in jobs):
        mine = [job for job in jobs if job.study is study]
        everything.answers.extend(_truths(study, mine))
        for variant in study.variants:
            runs = {(job.turn.name, job.seed): (job, work.read(job)) for job in mine if job.variant is variant}
            if runs:
                _add(everything, study, variant, runs)
    everything.rows[:0] = recording_rows(everything.answers)
    return everything


def _add(
    into: Collected, study: Study, variant: Variant, runs: dict[tuple[str, int], tuple[Job, Finished | None]]
) -> None:
    """One model of a study: seeds that are finished on every turn count."""
    turns = list(dict.fromkeys(turn for turn, _ in runs))
    seeds = [s for s in dict.fromkeys(seed for _, seed in runs) if all(runs[turn, s][1] for turn in turns)]
    if not seeds:
        into.missing.append(f"{study.name}: {variant.name}")
        return
    task = task_of(study)
    for protocol in study.protocols:
        per_seed = [[_whole(runs[turn, seed], protocol) for turn in turns] for seed in seeds]
        joined = [_joined(parts) for parts in per_seed]
        split = next(iter(runs.values()))[0].turn.splits[protocol]
        guesses, test, resample = [values for values, _ in joined], joined[0][1], NAMES[protocol][1]
        asked = {variant.name: dict(zip(seeds, guesses, strict=True))}
        if isinstance(variant, Network) and len(seeds) > 1:
            asked[committee(variant.name)] = {0: np.mean(guesses, axis=0)}
        for model, told in asked.items():
            for seed, values in told.items():
                means = per_recording(values, test.recordings).astype(np.float32)
                into.answers.append(_answers(study, protocol, split, task, model, seed, test, means))
            if "window" in variant.levels:
                mine, place = [*told.values()], (protocol, split, "window")
                names = protocol, split, model
                into.rows.extend(score(task, mine, test, names=names, resample=resample, level="window"))
                into.scored.append(scored(task, mine, test, place=place, model=model, resample=resample))
    done = [result.facts for (turn, seed), (_, result) in runs.items() if result is not None and seed in seeds]
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
    """Window predictions of one turn, with their labels."""
    job, result = run
    assert result is not None
    guess, pieces = result.guesses[protocol], job.turn.tests[protocol]
    chosen = [pieces[i] for i in guess.owner]
    return np.asarray(guess.values, float), _labels(chosen, job.turn.data.components)


def _labels(pieces: Sequence[Piece], components: Sequence[str]) -> Samples:
    targets = np.array([piece.label.vector(components) for piece in pieces if piece.label], np.float32)
    supports = tuple("+".join(sorted(piece.label.support)) for piece in pieces if piece.label)
    return Samples(np.zeros((len(pieces), 1, 1)), targets.astype(float), tuple(p.path for p in pieces), supports)


def _joined(parts: Sequence[tuple[np.ndarray, Samples]]) -> tuple[np.ndarray, Samples]:
    values = np.concatenate([values for values, _ in parts])
    samples = [one for _, one in parts]
    return values, Samples(
        np.zeros((len(values), 1, 1)),
        np.concatenate([one.targets for one in samples]),
        tuple(name for one in samples for name in one.recordings),
        tuple(name for one in samples for name in one.supports),
    )


def _truths(study: Study, jobs: Sequence[Job]) -> list[Answers]:
    turns, task, found = {job.turn.name: job.turn for job in jobs}.values(), task_of(study), []
    for protocol in study.protocols:
        parts = [_labels(turn.tests[protocol], turn.data.components) for turn in turns]
        values, samples = _joined([(part.targets, part) for part in parts])
        split = next(iter(turns)).splits[protocol]
        found.append(_answers(study, protocol, split, task, TRUTH, 0, samples, values.astype(np.float32)))
    return found


def _answers(
    study: Study,
    protocol: str,
    split: str,
    task: Task,
    model: str,
    seed: int,
    samples: Samples,
    values: np.ndarray,
) -> Answers:
    """Predictions of recordings; `samples` may hold several windows of each."""
    support = dict(zip(samples.recordings, samples.supports, strict=True))
    return Answers(study.name, protocol, split, task, model, seed, tuple(support), tuple(support.values()), values)

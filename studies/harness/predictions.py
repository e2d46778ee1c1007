"""Predictions per recording, kept as Parquet: every score can be computed again, and models compared in pairs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.inference.scores import Row, score
from unmixnet.metrics import Tally, paired_difference
from unmixnet.recordings.protocols import NAMES
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = [
    "OWN",
    "TRUTH",
    "ModelAnswers",
    "Pair",
    "Scored",
    "committee",
    "models_of",
    "paired",
    "read_predictions",
    "recording_rows",
    "samples_of",
    "scored",
    "scored_answers",
    "write_predictions",
]

TRUTH = "truth"
"""Stands in place of a model's name for the labels."""
_COLUMNS = ("study", "protocol", "split", "task", "model", "seed", "recording", "support", "values")


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """Predictions of one model with one seed for the recordings of a protocol; the labels where the model is `truth`.

    Arguments:
        recordings, supports: names, n of them.
        values: ratios or class scores, mean over a recording's windows, float32, shape (n, K).
    """

    study: str
    protocol: str
    split: str
    task: Task
    model: str
    seed: int
    recordings: tuple[str, ...]
    supports: tuple[str, ...]
    values: np.ndarray


def write_predictions(path: Path, answers: Sequence[ModelAnswers]) -> None:
    """Write them all; one row for each recording."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def column(name: str) -> pa.Array:
        texts = [str(getattr(answer, name)) for answer in answers for _ in answer.recordings]
        return pa.array(texts).dictionary_encode()

    columns = {name: column(name) for name in _COLUMNS[:5]}
    columns["seed"] = pa.array([answer.seed for answer in answers for _ in answer.recordings], pa.int32())
    columns["recording"] = pa.array([name for answer in answers for name in answer.recordings]).dictionary_encode()
    columns["support"] = pa.array([name for answer in answers for name in answer.supports]).dictionary_encode()
    rows = [row for answer in answers for row in np.asarray(answer.values, np.float32)]
    columns["values"] = pa.array(rows, pa.list_(pa.float32()))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, compression="zstd")


def read_predictions(path: Path) -> list[ModelAnswers]:
    """Read them back, in the order in which they were written."""
    import pyarrow.parquet as pq

    if not path.is_file():
        remedy = "Run it without --from-predictions and --add first"
        raise UnmixError("no predictions are stored", where=str(path), remedy=remedy)
    table = pq.read_table(path)
    columns = {name: table[name].to_pylist() for name in _COLUMNS[:-1]}
    lists = table["values"].combine_chunks()
    numbers, first = lists.values.to_numpy(), lists.offsets.to_numpy()
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(columns[name] for name in _COLUMNS[:6]), strict=True)):
        groups.setdefault(key, []).append(row)
    answers = []
    for (study, protocol, split, task, model, seed), rows in groups.items():
        values = np.stack([numbers[first[row] : first[row + 1]] for row in rows])
        names, supports = (tuple(columns[name][row] for row in rows) for name in ("recording", "support"))
        answers.append(ModelAnswers(study, protocol, split, Task(task), model, seed, names, supports, values))
    return answers


def models_of(answers: Iterable[ModelAnswers]) -> Iterator[tuple[ModelAnswers, list[ModelAnswers]]]:
    """The labels and all seeds of every model on every protocol."""
    groups: dict[tuple[str, str, str], list[ModelAnswers]] = {}
    for answer in answers:
        groups.setdefault((answer.protocol, answer.split, answer.model), []).append(answer)
    truths = {protocol: members[0] for (protocol, _, model), members in groups.items() if model == TRUTH}
    return ((truths[protocol], members) for (protocol, _, model), members in groups.items() if model != TRUTH)


def recording_rows(answers: Iterable[ModelAnswers]) -> list[Row]:
    """Scores of every model on every protocol, per recording."""
    rows = []
    for truth, members in models_of(answers):
        names = members[0].protocol, members[0].split, members[0].model
        guesses, resample = [np.asarray(answer.values, float) for answer in members], NAMES[names[0]][1]
        test = samples_of(truth, members[0])
        rows += score(truth.task, guesses, test, names=names, resample=resample, level="recording")
    return rows


def samples_of(truth: ModelAnswers, answer: ModelAnswers) -> Samples:
    """The labels of the recordings that a model answered, in its order."""
    place = {name: i for i, name in enumerate(truth.recordings)}
    rows = [place[name] for name in answer.recordings]
    values = np.asarray(truth.values, float)[rows]
    return Samples(np.zeros((len(rows), 1, 1)), values, answer.recordings, answer.supports)


def committee(model: str) -> str:
    """Name of the mean answer of all seeds of a network."""
    return f"{model} (committee)"


OWN = ("unmixnet", committee("unmixnet"), "unmixnet, steady state")
METRIC = {Task.RATIOS: "MAE", Task.CLASSES: "Acc@1"}
"""What is compared: the score that the paper's tables are about."""


@dataclass(frozen=True, eq=False)
class Scored:
    """What a model scored on each recording of a protocol, mean over seeds.

    Arguments:
        groups: what is resampled: recordings or supports, one name for each recording.
    """

    place: tuple[str, str, str]
    """Protocol, split, level."""
    model: str
    metric: str
    recordings: tuple[str, ...]
    groups: tuple[str, ...]
    tally: Tally
    seeds: int


@dataclass(frozen=True)
class Pair:
    """A difference, model less other; of errors a negative one is good, of accuracies a positive one.

    Arguments:
        mean, lo, hi, p: as `paired_difference` has them, each model's score the mean over its seeds.
        n: recordings or supports that were resampled.
    """

    protocol: str
    split: str
    level: str
    metric: str
    model: str
    other: str
    score: float
    other_score: float
    mean: float
    lo: float
    hi: float
    p: float
    n: int


def scored(
    task: Task, guesses: Sequence[np.ndarray], test: Samples, *, place: tuple[str, str, str], model: str, resample: str
) -> Scored:
    """Score one array of window predictions per seed."""
    names = list(dict.fromkeys(test.recordings))
    number = {name: i for i, name in enumerate(names)}
    owner = np.array([number[name] for name in test.recordings])
    truth = test.targets
    if place[2] == "recording":
        guesses = [per_recording(guess, test.recordings) for guess in guesses]
        truth, owner = truth[np.unique(owner, return_index=True)[1]], np.arange(len(names))
    values = np.mean([_values(task, guess, truth) for guess in guesses], axis=0)
    tally = Tally(np.bincount(owner, values), np.bincount(owner).astype(float))
    support = dict(zip(test.recordings, test.supports, strict=True))
    groups = names if resample == "recording" else [support[name] for name in names]
    return Scored(place, model, METRIC[task], tuple(names), tuple(groups), tally, len(guesses))


def scored_answers(answers: Sequence[ModelAnswers]) -> list[Scored]:
    """Score stored predictions, per recording."""
    results = []
    for truth, members in models_of(answers):
        test, place = samples_of(truth, members[0]), (members[0].protocol, members[0].split, "recording")
        guesses, resample = [np.asarray(answer.values, float) for answer in members], NAMES[place[0]][1]
        results.append(scored(truth.task, guesses, test, place=place, model=members[0].model, resample=resample))
    return results


def _values(task: Task, guess: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Error or success of every sample."""
    if task is Task.CLASSES:
        return (guess.argmax(axis=1) == truth.argmax(axis=1)).astype(float)
    return np.abs(guess - truth).mean(axis=1)


def paired(models: Sequence[Scored]) -> list[Pair]:
    """Each of ours against each that is not, where both were scored on the same recordings."""
    results = []
    for mine in (answer for answer in models if answer.model in OWN):
        for other in (answer for answer in models if answer.model not in OWN and answer.place == mine.place):
            if set(other.recordings) != set(mine.recordings):
                continue
            order = [other.recordings.index(name) for name in mine.recordings]
            theirs = Tally(other.tally.total[order], other.tally.count[order])
            difference = paired_difference(mine.tally, theirs, mine.groups)
            scores = (
                mine.tally.mean,
                theirs.mean,
                difference.mean,
                difference.lo,
                difference.hi,
                difference.p,
                difference.groups,
            )
            results.append(Pair(*mine.place, mine.metric, mine.model, other.model, *scores))
    return results

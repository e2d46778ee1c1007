"""UnMixNet beside every other model of a protocol: differences of one score, on the same recordings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.harness.predictions import Answers, models_of, samples_of
from unmixnet.metrics import Tally, paired_difference
from unmixnet.recordings.protocols import NAMES
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["OWN", "Pair", "Scored", "committee", "paired", "scored", "scored_answers"]


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


def scored_answers(answers: Sequence[Answers]) -> list[Scored]:
    """Score stored predictions, per recording."""
    found = []
    for truth, members in models_of(answers):
        test, place = samples_of(truth, members[0]), (members[0].protocol, members[0].split, "recording")
        guesses, resample = [np.asarray(one.values, float) for one in members], NAMES[place[0]][1]
        found.append(scored(truth.task, guesses, test, place=place, model=members[0].model, resample=resample))
    return found


def _values(task: Task, guess: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Error or success of every sample."""
    if task is Task.CLASSES:
        return (guess.argmax(axis=1) == truth.argmax(axis=1)).astype(float)
    return np.abs(guess - truth).mean(axis=1)


def paired(models: Sequence[Scored]) -> list[Pair]:
    """Each of ours against each that is not, where both were scored on the same recordings."""
    found = []
    for mine in (one for one in models if one.model in OWN):
        for other in (one for one in models if one.model not in OWN and one.place == mine.place):
            if set(other.recordings) != set(mine.recordings):
                continue
            order = [other.recordings.index(name) for name in mine.recordings]
            theirs = Tally(other.tally.total[order], other.tally.count[order])
            told = paired_difference(mine.tally, theirs, mine.groups)
            scores = (mine.tally.mean, theirs.mean, told.mean, told.lo, told.hi, told.p, told.groups)
            found.append(Pair(*mine.place, mine.metric, mine.model, other.model, *scores))
    return found

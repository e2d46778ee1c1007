"""Predictions per recording, kept as Parquet, so that every score of a recording can be computed again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.inference.scores import Row, score
from unmixnet.recordings.protocols import NAMES
from unmixnet.recordings.samples import Samples, Task

__all__ = ["TRUTH", "Answers", "models_of", "read_predictions", "recording_rows", "samples_of", "write_predictions"]

TRUTH = "truth"
"""Stands in place of a model's name for the labels."""
_COLUMNS = ("study", "protocol", "split", "task", "model", "seed", "recording", "support", "values")


@dataclass(frozen=True, eq=False)
class Answers:
    """What one model with one seed says of the recordings of a protocol; the labels where the model is `truth`.

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


def write_predictions(path: Path, answers: Sequence[Answers]) -> None:
    """Write them all; one row for each recording."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def column(name: str) -> pa.Array:
        texts = [str(getattr(one, name)) for one in answers for _ in one.recordings]
        return pa.array(texts).dictionary_encode()

    columns = {name: column(name) for name in _COLUMNS[:5]}
    columns["seed"] = pa.array([one.seed for one in answers for _ in one.recordings], pa.int32())
    columns["recording"] = pa.array([name for one in answers for name in one.recordings]).dictionary_encode()
    columns["support"] = pa.array([name for one in answers for name in one.supports]).dictionary_encode()
    rows = [row for one in answers for row in np.asarray(one.values, np.float32)]
    columns["values"] = pa.array(rows, pa.list_(pa.float32()))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, compression="zstd")


def read_predictions(path: Path) -> list[Answers]:
    """Read them back, in the order in which they were written."""
    import pandas as pd

    if not path.is_file():
        remedy = "Run it without --from-predictions and --add first"
        raise UnmixError("no predictions are stored", where=str(path), remedy=remedy)
    table = pd.read_parquet(path)
    keys = ["study", "protocol", "split", "task", "model", "seed"]
    found = []
    for _, part in table.groupby(keys, sort=False, observed=True):
        study, protocol, split, task, model, seed = (part[name].iloc[0] for name in keys)
        values = np.stack(part["values"].to_list())
        names, supports = (tuple(part[name].astype(str)) for name in ("recording", "support"))
        found.append(Answers(study, protocol, split, Task(task), model, int(seed), names, supports, values))
    return found


def models_of(answers: Iterable[Answers]) -> Iterator[tuple[Answers, list[Answers]]]:
    """The labels and all seeds of every model on every protocol."""
    groups: dict[tuple[str, str, str], list[Answers]] = {}
    for one in answers:
        groups.setdefault((one.protocol, one.split, one.model), []).append(one)
    truths = {protocol: members[0] for (protocol, _, model), members in groups.items() if model == TRUTH}
    return ((truths[protocol], members) for (protocol, _, model), members in groups.items() if model != TRUTH)


def recording_rows(answers: Iterable[Answers]) -> list[Row]:
    """Scores of every model on every protocol, per recording."""
    rows = []
    for truth, members in models_of(answers):
        names = members[0].protocol, members[0].split, members[0].model
        guesses, resample = [np.asarray(one.values, float) for one in members], NAMES[names[0]][1]
        test = samples_of(truth, members[0])
        rows += score(truth.task, guesses, test, names=names, resample=resample, level="recording")
    return rows


def samples_of(truth: Answers, answer: Answers) -> Samples:
    """The labels of the recordings that a model answered, in its order."""
    place = {name: i for i, name in enumerate(truth.recordings)}
    rows = [place[name] for name in answer.recordings]
    values = np.asarray(truth.values, float)[rows]
    return Samples(np.zeros((len(rows), 1, 1)), values, answer.recordings, answer.supports)

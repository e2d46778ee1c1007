"""One number of a table, with its spread, its interval and what it rests on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet import metrics
from unmixnet.recordings.samples import Samples, Task, per_recording

__all__ = ["METRICS", "Row", "score"]

RESAMPLES = 500
Metric = Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]


@dataclass(frozen=True)
class Row:
    """A score.

    Arguments:
        protocol: name of the split.
        split: what was tested, e.g. "test_seen".
        level: "window", "recording" (mean of its windows' predictions), "settled plateau" or "any plateau".
        model: name of the peer or control.
        metric: as in `unmixnet.metrics`.
        mean, sd: over seeds.
        lo, hi: 95 % interval of the first seed's score, resampling recordings or supports.
        n: how many of those there are.
        seeds: how many seeds; 1 where the model has none.
    """

    protocol: str
    split: str
    level: str
    model: str
    metric: str
    mean: float
    sd: float
    lo: float
    hi: float
    n: int
    seeds: int


def _by_class(metric: Metric) -> Metric:
    """A metric of class indices, for one-hot targets."""
    return lambda guess, target, weight=None: metric(guess, target.argmax(axis=1), weight)


METRICS: Mapping[Task, Mapping[str, Metric]] = {
    Task.RATIOS: {
        "MAE": metrics.mae,
        "acc@0.1": metrics.acc_at_01,
        "TopK hit": metrics.top_k_hit,
        "support F1@0.1": metrics.support_f1,
        "cosine": metrics.cosine,
    },
    Task.CLASSES: {
        "Acc@1": _by_class(metrics.accuracy_at_1),
        "Acc@5": _by_class(metrics.accuracy_at_5),
        "macro-F1": _by_class(metrics.macro_f1),
    },
}


def score(
    task: Task,
    guesses: Sequence[np.ndarray],
    test: Samples,
    *,
    names: tuple[str, str, str],
    resample: str,
    level: str,
) -> list[Row]:
    """Rows of every metric of the task, for one array of predictions per seed.

    Arguments:
        names: protocol, split, model.
        resample: "recording" or "support".
        level: "window" or "recording".
    """
    truth, groups = test.targets, test.recordings if resample == "recording" else test.supports
    if level == "recording":
        guesses = [per_recording(guess, test.recordings) for guess in guesses]
        first = {name: i for i, name in reversed(list(enumerate(test.recordings)))}
        rows = [first[name] for name in dict.fromkeys(test.recordings)]
        truth, groups = truth[rows], [groups[i] for i in rows]
    scores = []
    for name, metric in METRICS[task].items():
        values = [metric(guess, truth, None) for guess in guesses]
        interval = metrics.bootstrap_interval(metric, guesses[0], truth, groups, resamples=RESAMPLES)
        spread = (float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
        protocol, split, model = names
        scores.append(
            Row(
                protocol,
                split,
                level,
                model,
                name,
                *spread,
                interval.lo,
                interval.hi,
                interval.groups,
                len(values),
            )
        )
    return scores

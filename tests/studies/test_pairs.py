"""UnMixNet beside others: the scores of the tables, on the same recordings."""

import numpy as np
import pytest

from studies.harness.predictions import paired, scored
from unmixnet.inference.scores import score
from unmixnet.recordings.samples import Samples, Task

RNG = np.random.default_rng(0)
RECORDINGS = tuple(f"r{i // 3}" for i in range(60))
SUPPORTS = tuple(f"s{i // 12}" for i in range(60))


def samples(task: Task) -> Samples:
    targets = np.repeat(RNG.dirichlet(np.ones(4), 20), 3, axis=0)
    if task is Task.CLASSES:
        targets = np.eye(4)[targets.argmax(axis=1)]
    return Samples(np.zeros((60, 1, 1)), targets, RECORDINGS, SUPPORTS)


@pytest.mark.parametrize("level", ["window", "recording"])
@pytest.mark.parametrize("task", [Task.RATIOS, Task.CLASSES])
def test_scores_are_those_of_the_tables(task, level):
    test, guesses = samples(task), [RNG.dirichlet(np.ones(4), 60) for _ in range(3)]
    place = "p", "s", level
    mine = scored(task, guesses, test, place=place, model="unmixnet", resample="support")
    row = score(task, guesses, test, names=("p", "s", "unmixnet"), resample="support", level=level)[0]
    assert (mine.metric, mine.seeds) == (row.metric, 3)
    assert mine.tally.mean == pytest.approx(row.mean)


def one(model: str, guess: np.ndarray, place=("p", "s", "recording"), test=None):
    return scored(Task.RATIOS, [guess], test or samples(Task.RATIOS), place=place, model=model, resample="support")


def test_ours_are_compared_with_others_of_the_same_place_by_supports():
    test = samples(Task.RATIOS)
    good, bad = test.targets, RNG.dirichlet(np.ones(4), 60)
    models = [
        one("unmixnet", good, test=test),
        one("mean", bad, test=test),
        one("unmixnet, steady state", bad, test=test),
    ]
    models.append(one("ridge", bad, place=("q", "s", "recording"), test=test))
    found = paired(models)
    assert [(pair.model, pair.other) for pair in found] == [("unmixnet", "mean"), ("unmixnet, steady state", "mean")]
    better, same = found
    assert better.score == pytest.approx(0) and better.mean < 0 and better.hi < 0 and better.n == 5
    assert same.mean == 0 and same.p == 1


def test_the_order_of_recordings_does_not_matter():
    test = samples(Task.RATIOS)
    guess, order = RNG.dirichlet(np.ones(4), 60), np.arange(60)[::-1]
    turned = Samples(test.windows, test.targets[order], RECORDINGS[::-1], SUPPORTS[::-1])
    (pair,) = paired([one("unmixnet", guess, test=test), one("same", guess[order], test=turned)])
    assert pair.mean == pytest.approx(0, abs=1e-12)
    assert (pair.lo, pair.hi) == pytest.approx((0, 0), abs=1e-12)

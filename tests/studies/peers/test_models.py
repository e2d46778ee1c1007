"""Every peer learns what it can see, predicts what the task asks for, and nothing from what it cannot see."""

import numpy as np
import pytest

from studies.peers import PEERS, Samples, Task, per_recording

RNG = np.random.default_rng(0)
LEARNERS = [name for name in PEERS if name not in ("chance", "mean")]


def each(names: list[str]) -> list:
    """The names as parameters; MiniRocket compiles for half a minute, and is a long test."""
    return [pytest.param(name, marks=[pytest.mark.soak] if name == "mini-rocket" else []) for name in names]


def _samples(n: int, seed: int, task: Task) -> Samples:
    """Windows whose channel levels rise with the share of each of three components."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3) * 0.5, n)
    if task is Task.CLASSES:
        shares = np.eye(3)[shares.argmax(axis=1)]
    windows = 100 + 300 * np.repeat(shares[:, None, :], 30, axis=1) + rng.normal(0, 2, (n, 30, 3))
    return Samples(windows, shares, tuple(f"r{i // 2}" for i in range(n)), ("a",) * n)


@pytest.mark.parametrize("name", each(LEARNERS))
def test_ratios_are_learnt_and_lie_on_the_simplex(name):
    train, test = _samples(200, 0, Task.RATIOS), _samples(100, 1, Task.RATIOS)
    guess = PEERS[name].fit(train, Task.RATIOS, seed=0).predict(test.windows)
    assert guess.shape == test.targets.shape
    assert np.all(guess >= 0) and guess.sum(axis=1) == pytest.approx(1)
    null = np.abs(train.targets.mean(axis=0) - test.targets).mean()
    assert np.abs(guess - test.targets).mean() < 0.35 * null


@pytest.mark.parametrize("name", each([name for name in LEARNERS if name != "quadratic ridge"]))
def test_classes_are_learnt(name):
    train, test = _samples(200, 0, Task.CLASSES), _samples(100, 1, Task.CLASSES)
    guess = PEERS[name].fit(train, Task.CLASSES, seed=0).predict(test.windows)
    assert np.mean(guess.argmax(axis=1) == test.targets.argmax(axis=1)) > 0.95


@pytest.mark.parametrize("name", ["chance", "mean"])
def test_null_peers_see_nothing_of_the_window(name):
    train = _samples(200, 0, Task.RATIOS)
    fitted = PEERS[name].fit(train, Task.RATIOS, seed=3)
    assert np.array_equal(fitted.predict(train.windows), fitted.predict(0 * train.windows))


@pytest.mark.parametrize("name", each(list(PEERS)))
def test_the_seed_decides_and_only_where_it_is_said_to(name):
    train = _samples(120, 0, Task.RATIOS)
    windows = _samples(60, 1, Task.RATIOS).windows
    first, again, other = (PEERS[name].fit(train, Task.RATIOS, seed=s).predict(windows) for s in (0, 0, 1))
    assert np.allclose(first, again)
    if not PEERS[name].seeded:
        assert np.allclose(first, other)


def test_a_class_that_training_lacks_gets_score_zero():
    train = _samples(200, 0, Task.CLASSES)
    wider = Samples(train.windows, np.pad(train.targets, ((0, 0), (0, 1))), train.recordings, train.supports)
    guess = PEERS["extra-trees"].fit(wider, Task.CLASSES, seed=0).predict(train.windows)
    assert guess.shape[1] == 4 and np.all(guess[:, 3] == 0)


def test_a_recording_is_the_mean_of_its_windows():
    values = np.array([[1.0, 0], [0, 1], [0, 1], [1, 0]])
    assert per_recording(values, ("b", "a", "b", "a")) == pytest.approx(np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert per_recording(values, ("b", "b", "b", "a")) == pytest.approx(np.array([[1 / 3, 2 / 3], [1, 0]]))

"""Spread tasks are all done, once each in what comes back, by workers that may die."""

import os
from functools import partial

import pytest

from tests.inference.archive.workers import work
from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.archive.workers import Local, OnRay, guarded, place_of, spread, value_of


def test_other_processes_do_every_task_once():
    found = dict(spread(work.square, range(20), Local(2)))
    assert {task: value for task, (value, _) in found.items()} == {n: n * n for n in range(20)}
    assert os.getpid() not in {process for _, process in found.values()}


def test_one_worker_is_this_process():
    assert dict(spread(work.square, [2, 3], Local(1))) == {2: (4, os.getpid()), 3: (9, os.getpid())}


def test_tasks_are_drawn_as_they_are_done_so_that_there_may_be_any_number():
    drawn = []
    tasks = (drawn.append(n) or n for n in range(10**9))
    running = spread(work.slow, tasks, Local(2))
    for _ in range(5):
        next(running)
    assert len(drawn) <= 5 + 4
    running.close()


def test_tasks_of_a_worker_that_was_killed_are_done_by_another(tmp_path):
    (tmp_path / "kill").touch()
    tasks = [(n, str(tmp_path / "kill")) for n in range(8)]
    found = sorted((task[0], value) for task, value in spread(work.die_once, tasks, Local(2)))
    assert found == [(n, n * n) for n in range(8)] and not (tmp_path / "kill").exists()


def test_a_task_that_kills_every_worker_ends_the_run_with_words():
    with pytest.raises(UnmixError, match=r"workers died 4 times during the same task. Is memory short"):
        list(spread(work.die, range(6), Local(2)))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_ours_comes_back_as_it_was(workers):
    with pytest.raises(UnmixError) as caught:
        list(spread(work.bent, range(6), Local(workers)))
    assert str(caught.value) == "task 3: the third is bent. Straighten it."


def test_any_other_error_comes_back_with_its_trace():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        value_of(guarded(partial(divmod, 1), 0))


def test_a_worker_has_one_thread():
    ((_, told),) = spread(work.threads, [0], Local(2))
    assert told == ("1", 1)


@pytest.mark.parametrize("told", [True, False], ids=["the system tells its cores", "it does not"])
def test_places(monkeypatch, told):
    if not told:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert place_of("local", 3) == OnRay("local", 3) and place_of(None, 3) == Local(3)
    assert place_of(None, None).workers >= 1
    with pytest.raises(ConfigError, match="positive number"):
        place_of(None, 0)

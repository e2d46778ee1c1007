"""Tasks on processes of this machine, by the standard library's pool."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from unmixnet.errors import UnmixError
from unmixnet.inference.archive.outcome import guarded, value_of
from unmixnet.inference.archive.places import ONE_THREAD, TRIES

__all__ = ["spread_local"]

Task = TypeVar("Task")
Value = TypeVar("Value")


def spread_local(work: Callable[[Task], Value], tasks: Iterable[Task], workers: int) -> Iterator[tuple[Task, Value]]:
    """See `spread`."""
    source, pool = iter(tasks), _pool(workers)
    pending: dict[Future, tuple[Task, int]] = {}
    again: list[tuple[Task, int]] = []
    try:
        while True:
            fresh = [(task, 0) for task in islice(source, max(2 * workers - len(pending) - len(again), 0))]
            pending |= {_given(pool, work, entry[0]): entry for entry in (*again, *fresh)}
            again = []
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            sound = [future for future in done if not isinstance(future.exception(), BrokenProcessPool)]
            for future in sound:
                yield pending.pop(future)[0], value_of(future.result())
            if len(sound) < len(done):
                # one process died, and with it the pool: everything that was under way is done anew
                again = [_once_more(*entry) for entry in pending.values()]
                pending = {}
                pool.shutdown(wait=False, cancel_futures=True)
                pool = _pool(workers)
    finally:
        _stop(pool, pending)


def _given(pool: ProcessPoolExecutor, work: Callable[[Task], Value], task: Task) -> Future:
    """The task's future; that of a pool which died meanwhile says so when it is looked at."""
    try:
        return pool.submit(guarded, work, task)
    except BrokenProcessPool as error:
        lost: Future = Future()
        lost.set_exception(error)
        return lost


def _once_more(task: Task, deaths: int) -> tuple[Task, int]:
    """A task to be done again; one during which workers died too often is refused."""
    if deaths >= TRIES:
        raise UnmixError(
            f"workers died {deaths + 1} times during the same task",
            where=str(task)[:200],
            remedy="Is memory short? Use fewer --workers; what was finished is kept",
        )
    return task, deaths + 1


def _pool(workers: int) -> ProcessPoolExecutor:
    # not forked: jax has threads, and a fork of a process with threads may hang
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(os.getpid(),))


def _begin(parent: int) -> None:
    """A worker: one thread, deaf to Ctrl-C (which the parent hears), gone when the parent is."""
    os.environ.update(ONE_THREAD)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _stop(pool: ProcessPoolExecutor, pending: dict[Future, Any]) -> None:
    """End the pool; with tasks still under way (an error, Ctrl-C) its processes are not waited for."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    if pending:
        for process in processes:
            process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)

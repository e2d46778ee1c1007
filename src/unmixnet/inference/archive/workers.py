"""One function over many tasks, on processes of this machine or on a Ray cluster."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import Any, Generic, TypeVar

from unmixnet.errors import ConfigError, UnmixError

__all__ = [
    "ONE_THREAD",
    "TRIES",
    "Local",
    "OnRay",
    "Outcome",
    "Place",
    "guarded",
    "place_of",
    "spread",
    "spread_local",
    "value_of",
]

TRIES = 3
"""How often a task is given to another worker after its own died."""
ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PJRT_NPROC": "1",
}
"""Variables of a worker: as many workers as cores are quickest when each has one thread.

The last is XLA's; a flag of XLA would do too, but programs that were compiled without it would be compiled again.
"""


@dataclass(frozen=True)
class Local:
    """Processes of this machine; with one worker, this process itself."""

    workers: int = 1


@dataclass(frozen=True)
class OnRay:
    """A Ray cluster.

    Arguments:
        address: `local` starts one on this machine, `auto` finds the one that runs here, else host:port.
        workers: processors of a cluster that is started here; None takes every core.
    """

    address: str = "local"
    workers: int | None = None


Place = Local | OnRay


def place_of(ray: str | None, workers: int | None) -> Place:
    """What `--ray` and `--workers` ask for."""
    if workers is not None and workers < 1:
        raise ConfigError(f"{workers} workers, expected at least one", remedy="Give --workers a positive number")
    if ray is not None:
        return OnRay(ray, workers)
    # those that this process may use, where the system tells
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Local(workers or cores or 1)


Task = TypeVar("Task")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Outcome(Generic[Value]):
    """The value of a task, or what stood in its way.

    Arguments:
        problem, where, remedy: of an `UnmixError`; empty if all went well.
        trace: of any other exception.
    """

    value: Value | None = None
    problem: str = ""
    where: str = ""
    remedy: str = ""
    trace: str = ""


def guarded(work: Callable[[Task], Value], task: Task) -> Outcome[Value]:
    """Do a task inside a worker."""
    try:
        return Outcome(work(task))
    except UnmixError as error:
        return Outcome(problem=error.problem, where=error.where, remedy=error.remedy)
    except Exception:
        return Outcome(trace=traceback.format_exc())


def value_of(outcome: Outcome[Value]) -> Value:
    """The value, or the error raised again on this side."""
    if outcome.trace:
        raise RuntimeError(f"a worker failed:\n{outcome.trace}")
    if outcome.problem:
        raise UnmixError(outcome.problem, where=outcome.where, remedy=outcome.remedy)
    return outcome.value  # pyright: ignore[reportReturnType]


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


def spread(work: Callable[[Task], Value], tasks: Iterable[Task], place: Place) -> Iterator[tuple[Task, Value]]:
    """Tasks with what `work` makes of them, in the order in which they are finished.

    Arguments:
        work: a function of a module, or a `partial` of one: it is sent to other processes.
        tasks: read lazily, so there may be any number of them.
    """
    if isinstance(place, Local):
        if place.workers == 1:
            return ((task, value_of(guarded(work, task))) for task in tasks)

        return spread_local(work, tasks, place.workers)
    from unmixnet.inference.archive.ray_workers import spread_ray

    return spread_ray(work, tasks, place)

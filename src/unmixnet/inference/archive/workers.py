"""One function over many tasks, on processes of this machine or on a Ray cluster."""

import logging
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
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
    "cluster",
    "guarded",
    "place_of",
    "spread",
    "spread_local",
    "spread_ray",
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
    """Where to run, from `--ray` and `--workers`."""
    if workers is not None and workers < 1:
        raise ConfigError(f"{workers} workers, expected at least one", remedy="Give --workers a positive number")
    if ray is not None:
        return OnRay(ray, workers)
    # those that this process may use, where the system reports them
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Local(workers or cores or 1)


Task = TypeVar("Task")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Outcome(Generic[Value]):
    """The value of a task, or its error.

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
    """Run a task inside a worker."""
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
            pending |= {_submit(pool, work, entry[0]): entry for entry in (*again, *fresh)}
            again = []
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            sound = [future for future in done if not isinstance(future.exception(), BrokenProcessPool)]
            for future in sound:
                yield pending.pop(future)[0], value_of(future.result())
            if len(sound) < len(done):
                # a dead process breaks the whole pool: all tasks that were running are submitted again
                again = [_resubmit(*entry) for entry in pending.values()]
                pending = {}
                pool.shutdown(wait=False, cancel_futures=True)
                pool = _pool(workers)
    finally:
        _stop(pool, pending)


def _submit(pool: ProcessPoolExecutor, work: Callable[[Task], Value], task: Task) -> Future:
    """The task's future; if the pool is broken, one that holds the exception."""
    try:
        return pool.submit(guarded, work, task)
    except BrokenProcessPool as error:
        lost: Future = Future()
        lost.set_exception(error)
        return lost


def _resubmit(task: Task, deaths: int) -> tuple[Task, int]:
    """A task to submit again; refused if workers died during it too often."""
    if deaths >= TRIES:
        raise UnmixError(
            f"workers died {deaths + 1} times during the same task",
            where=str(task)[:200],
            remedy="Is memory short? Use fewer --workers; what was finished is kept",
        )
    return task, deaths + 1


def _pool(workers: int) -> ProcessPoolExecutor:
    # not forked: jax has threads, and a fork of a process with threads may hang
    return ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start_worker, initargs=(os.getpid(),)
    )


def _start_worker(parent: int) -> None:
    """Set up a worker: one thread, Ctrl-C left to the parent, exit when the parent is gone."""
    os.environ.update(ONE_THREAD)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
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


# ---------------------------------------------------------------- on a Ray cluster

_PASSED_ON = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "UNMIXNET_DATA")


def spread_ray(work: Callable[[Task], Value], tasks: Iterable[Task], place: OnRay) -> Iterator[tuple[Task, Value]]:
    """See `spread`; every task has one processor and one thread."""
    with cluster(place) as ray:
        variables = ONE_THREAD | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        remote = ray.remote(num_cpus=1, max_retries=TRIES, runtime_env={"env_vars": variables})(
            lambda task: guarded(work, task)
        )
        source, pending = iter(tasks), {}
        while True:
            room = 2 * _processors(ray) - len(pending)
            pending |= {remote.remote(task): task for task in islice(source, max(room, 0))}
            if not pending:
                return
            done, _ = ray.wait(list(pending))
            for ready in done:
                task = pending.pop(ready)
                yield task, value_of(_got(ray, ready, task))


@contextmanager
def cluster(place: OnRay) -> Iterator[Any]:
    """Ray, connected; a cluster that was started here ends with the context."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "Ray is not installed", where="--ray", remedy="Install it with: pip install 'unmixnet[ray]'"
        ) from None
    if ray.is_initialized():
        yield ray
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    # jax warns about every fork; Ray's processes do not share this one's memory
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    try:
        if place.address == "local":
            ray.init(num_cpus=place.workers, include_dashboard=False, **quiet)
        else:
            ray.init(address=place.address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        raise ConfigError(
            f"there is no Ray cluster at {place.address!r} ({str(error).splitlines()[0][:200]})",
            where="--ray",
            remedy="Start one with `ray start --head`, or use --ray local",
        ) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _processors(ray: Any) -> int:
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


def _got(ray: Any, ready: Any, task: Any) -> Any:
    try:
        return ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        raise UnmixError(
            f"a worker cannot load the task ({str(error).strip().splitlines()[-1][:200]})",
            where="--ray",
            remedy="Install the same unmixnet on every node of the cluster",
        ) from None
    except ray.exceptions.RayError as error:
        raise UnmixError(
            f"workers died {TRIES + 1} times during the same task ({type(error).__name__})",
            where=str(task)[:200],
            remedy="Is memory short on a node? Use fewer processors there; what was finished is kept",
        ) from None


# ---------------------------------------------------------------- anywhere


def spread(work: Callable[[Task], Value], tasks: Iterable[Task], place: Place) -> Iterator[tuple[Task, Value]]:
    """Tasks with their results, in order of completion.

    Arguments:
        work: a function of a module, or a `partial` of one: it is sent to other processes.
        tasks: read lazily, so there may be any number of them.
    """
    if isinstance(place, Local):
        if place.workers == 1:
            return ((task, value_of(guarded(work, task))) for task in tasks)
        return spread_local(work, tasks, place.workers)
    return spread_ray(work, tasks, place)

"""Tasks on a Ray cluster: Ray places them, and gives those of a dead worker or node to another."""

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.archive.workers import ONE_THREAD, TRIES, OnRay, guarded, value_of

__all__ = ["cluster", "spread_ray"]

Task = TypeVar("Task")
Value = TypeVar("Value")
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
    # jax warns of any process that is started; Ray's do not go on from this one's memory
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

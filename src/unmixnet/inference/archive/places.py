"""Where tasks run: in processes of this machine, or on a Ray cluster."""

import os
from dataclasses import dataclass

from unmixnet.errors import ConfigError

__all__ = ["ONE_THREAD", "TRIES", "Local", "OnRay", "Place", "place_of"]

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

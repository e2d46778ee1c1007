"""What workers of the tests do; in a module of its own, so that other processes can import it."""

import os
import signal
import time
from pathlib import Path

from unmixnet.errors import UnmixError

__all__ = ["answer_or_die", "bent", "die", "die_once", "slow", "square", "threads"]


def square(task: int) -> tuple[int, int]:
    """With the process that did it."""
    return task * task, os.getpid()


def die_once(task: tuple[int, str]) -> int:
    """The first to come here kills its process, as a lack of memory would."""
    number, marker = task
    fall(Path(marker))
    return number * number


def die(task: int) -> int:
    if task == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def bent(task: int) -> int:
    if task == 3:
        raise UnmixError("the third is bent", where="task 3", remedy="Straighten it")
    return task


def slow(task: int) -> int:
    time.sleep(0.05)
    return task


def threads(task: int) -> tuple[str, int]:
    """What a worker tells XLA, and how many threads XLA has then."""
    import jax

    jax.devices()
    names = [Path(f"/proc/self/task/{one}/comm").read_text() for one in os.listdir("/proc/self/task")]
    return os.environ["PJRT_NPROC"], sum("XLAEigen" in name for name in names)


def answer_or_die(unit, job, marker: str):
    """A task of an archive; the first to be finished is lost with its worker."""
    from unmixnet.inference.archive.task import answer_unit

    done = answer_unit(unit, job)
    fall(Path(marker))
    return done


def fall(marker: Path) -> None:
    """Kill this process, if the marker is there: only one process can remove it."""
    try:
        marker.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)

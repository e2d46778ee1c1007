"""What comes back from a worker: a value, or words; never an exception, which another process may fail to unpack."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from unmixnet.errors import UnmixError

__all__ = ["Outcome", "guarded", "value_of"]

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

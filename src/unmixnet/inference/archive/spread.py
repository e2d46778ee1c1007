"""One function over many tasks, on whatever machines there are; tasks are drawn as workers get free.

At most two tasks per worker are under way, so that neither tasks nor results pile up (back-pressure). A task whose
worker dies is given to another one; whoever gives out tasks makes sure that doing one twice does no harm.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from unmixnet.inference.archive.outcome import guarded, value_of
from unmixnet.inference.archive.places import Local, Place

__all__ = ["spread"]

Task = TypeVar("Task")
Value = TypeVar("Value")


def spread(work: Callable[[Task], Value], tasks: Iterable[Task], place: Place) -> Iterator[tuple[Task, Value]]:
    """Tasks with what `work` makes of them, in the order in which they are finished.

    Arguments:
        work: a function of a module, or a `partial` of one: it is sent to other processes.
        tasks: read lazily, so there may be any number of them.
    """
    if isinstance(place, Local):
        if place.workers == 1:
            return ((task, value_of(guarded(work, task))) for task in tasks)
        from unmixnet.inference.archive.local import spread_local

        return spread_local(work, tasks, place.workers)
    from unmixnet.inference.archive.ray_workers import spread_ray

    return spread_ray(work, tasks, place)

"""Progress bars on stderr, one for each stage of a long command."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["stages"]


@contextmanager
def stages() -> Iterator[Callable[[str, int], Callable[[], None]]]:
    """Within this context, `stage(name, steps)` opens a bar and returns what advances it by one.

    Where stderr is no terminal, each stage is one line of text instead.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:

        def stage(name: str, steps: int) -> Callable[[], None]:
            if not console.is_terminal:
                print(f"{name} ({steps} steps)", file=sys.stderr, flush=True)
            task = bars.add_task(name, total=steps)
            return lambda: bars.advance(task)

        yield stage

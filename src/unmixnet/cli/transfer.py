"""A progress bar for bytes on stderr, so that stdout carries results only."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["transfer_bar"]


@contextmanager
def transfer_bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Within this context, `advance(step, total)` counts bytes; nothing shows where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)

        def advance(step: int, total: int | None) -> None:
            bar.update(task, advance=step, total=total)

        yield advance

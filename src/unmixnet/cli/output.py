"""What commands print: one JSON object or a table on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["busy", "emit", "say", "table"]


def emit(value: Any) -> None:
    """Print one JSON object on stdout."""
    json.dump(value, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """A line for the person at the terminal, on stderr."""
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(text)


@contextmanager
def busy(text: str) -> Iterator[None]:
    """A spinner on stderr while something takes its time."""
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table on stdout; every column but the first is right-aligned."""
    from rich.console import Console
    from rich.table import Table

    out = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for i, column in enumerate(columns):
        out.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        out.add_row(*row)
    Console().print(out)

"""What commands print: results on stdout, messages and progress on stderr.

All text is literal. Rich reads no markup in it, and characters that a terminal would obey are replaced, so that any
name of a file, sensor or substance can be printed. Style stands beside the text, in `Styled` parts:

    message("Report: ", bold(page))
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unmixnet.files.printable import printable_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from unmixnet.errors import UnmixError

__all__ = [
    "Bar",
    "Progress",
    "Styled",
    "bold",
    "error_message",
    "figure_path",
    "message",
    "print_json",
    "print_table",
    "print_text",
    "progress",
    "spinner",
]


@dataclass(frozen=True)
class Styled:
    """Text with a Rich style, e.g. `bold red`."""

    text: object
    style: str


Part = object
"""A `Styled`, or anything else, printed as its text."""
Cell = object
"""A part, or a list of parts."""


def bold(text: object) -> Styled:
    """Bold text."""
    return Styled(text, "bold")


def print_json(schema: str, values: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout: its schema first, then the values; NaN and infinity become null.

    Arguments:
        schema: e.g. `unmixnet.check/1`, as docs/reference/commands.md lists it.
        values: keys are names of fields and have no spaces; names of files, sensors or substances stand in lists.
    """
    text = json.dumps({"schema": schema, **_json_safe(values)}, indent=2, allow_nan=False)
    sys.stdout.write(f"{text}\n")


def figure_path(path: Path | None) -> Path | None:
    """Check an option that names a figure before anything is computed: its ending chooses the format."""
    if path is not None and path.suffix.lower() not in _FIGURES:
        raise typer.BadParameter(f"{str(path)!r} does not end in {', '.join(_FIGURES[:-1])} or {_FIGURES[-1]}")
    return path


_FIGURES = (".jpg", ".pdf", ".png", ".svg")


def _json_safe(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _json_safe(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_safe(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_text(*parts: Part, indent: int = 0, wrap: bool = False) -> None:
    """Print a line of a result on stdout.

    Arguments:
        indent: spaces before every line.
        wrap: break the line between words at the width of the terminal.
    """
    from rich.padding import Padding

    text = _text(parts)
    _console(stderr=False, soft_wrap=not wrap).print(Padding(text, (0, 0, 0, indent)) if indent else text)


def message(*parts: Part) -> None:
    """Print a line for the person at the terminal, on stderr."""
    _console(stderr=True).print(_text(parts))


def error_message(error: "UnmixError | str") -> None:
    """Print what went wrong, on stderr."""
    sys.stderr.write(f"unmixnet: {printable_lines(error)}\n")


def print_table(
    title: Cell,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    left: Sequence[str] = (),
    frame: bool = True,
) -> None:
    """Print a table on stdout; the first column and those in `left` are left-aligned, the others right-aligned."""
    from rich.box import HEAVY_HEAD
    from rich.table import Table

    table = Table(
        title=_cell(title) if title else None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=HEAVY_HEAD if frame else None,
        padding=(0, 1) if frame else (0, 2),
        show_edge=frame,
    )
    for i, column in enumerate(columns):
        table.add_column(_cell(column), justify="left" if i == 0 or column in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    _console(stderr=False, soft_wrap=not frame).print(table)


def _console(*, stderr: bool, soft_wrap: bool = True) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap)


def _text(parts: Sequence[Part]) -> "Text":
    from rich.text import Text

    text = Text()
    for part in parts:
        styled = part if isinstance(part, Styled) else Styled(part, "")
        text.append(printable_lines(styled.text), styled.style)
    return text


def _cell(cell: Cell) -> "Text":
    return _text(cell if isinstance(cell, list | tuple) else [cell])


# ---------------------------------------------------------------- progress


class Bar:
    """A line of a progress display: a bar if it has a total, else a spinner."""

    def __init__(self, display: Any, task: Any) -> None:
        self._display, self._task = display, task

    def advance(self, steps: int = 1) -> None:
        """Count steps, or bytes."""
        if self._display is not None:
            self._display.advance(self._task, steps)

    def update(
        self,
        text: str | None = None,
        *,
        completed: int | None = None,
        total: int | None = None,
        note: str | None = None,
    ) -> None:
        """Change the text before the bar, the counts, or the note behind them; what is None stays."""
        if self._display is None:
            return
        words = {"description": text, "note": note}
        changed = {name: printable_lines(word) for name, word in words.items() if word is not None}
        self._display.update(self._task, completed=completed, total=total, **changed)

    def restart(self, text: str, total: int | None) -> None:
        """Count another thing from zero."""
        if self._display is not None:
            self._display.remove_task(self._task)
            self._task = self._display.add_task(printable_lines(text), total=total, note="", in_bytes=False)


class Progress:
    """Bars and spinners on stderr if it is a terminal, else lines of text; see `progress`."""

    def __init__(self, display: Any) -> None:
        self._display = display

    @property
    def visible(self) -> bool:
        """Whether bars are shown."""
        return self._display is not None

    def bar(self, text: str, total: int | None = None, *, in_bytes: bool = False) -> Bar:
        """Add a bar; a spinner as long as there is no total."""
        if self._display is None:
            return Bar(None, None)
        task = self._display.add_task(printable_lines(text), total=total, note="", in_bytes=in_bytes)
        return Bar(self._display, task)

    def __call__(self, name: str, steps: int) -> Callable[[], None]:
        """Begin a stage of so many steps; call what is returned after each of them."""
        self.log(f"{name} ({steps} steps)")
        return self.bar(name, steps).advance

    def log(self, text: str) -> None:
        """Print a line where no bars are shown."""
        if self._display is None:
            sys.stderr.write(f"{printable_lines(text)}\n")
            sys.stderr.flush()


@contextmanager
def progress() -> Iterator[Progress]:
    """The progress display of a command, on stderr; gone when the context ends."""
    if not sys.stderr.isatty():
        yield Progress(None)
        return
    with _display() as display:
        yield Progress(display)


@contextmanager
def spinner(text: str) -> Iterator[Bar]:
    """A spinner on stderr while something of unknown length runs; nothing where stderr is not a terminal."""
    with progress() as display:
        yield display.bar(text)


def _display() -> Any:
    from rich import progress as rich
    from rich.text import Text

    class If(rich.ProgressColumn):
        """A column that is empty for tasks of another kind."""

        def __init__(self, shown: Callable[[rich.Task], bool], column: rich.ProgressColumn) -> None:
            super().__init__()
            self.shown, self.column = shown, column

        def render(self, task: rich.Task) -> Any:
            return self.column(task) if self.shown(task) else Text()

    return rich.Progress(
        If(lambda task: task.total is None, rich.SpinnerColumn()),
        rich.TextColumn("{task.description}", markup=False),
        If(lambda task: task.total is not None, rich.BarColumn()),
        If(lambda task: task.total is not None and not task.fields["in_bytes"], rich.MofNCompleteColumn()),
        If(lambda task: task.fields["in_bytes"], rich.DownloadColumn()),
        rich.TimeElapsedColumn(),
        If(lambda task: task.total is not None, rich.TimeRemainingColumn(elapsed_when_finished=False)),
        rich.TextColumn("{task.fields[note]}", markup=False),
        console=_console(stderr=True, soft_wrap=False),
        transient=True,
    )

"""A long run on the terminal: jobs done, epochs of the one that runs, and how long the rest will take."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from studies.harness.remaining_time import in_words
from studies.harness.run import Failure, Watch
from studies.harness.work import Facts, Job

__all__ = ["Display"]


class Display(Watch):
    """Two bars on stderr; where that is no terminal, a line for each finished job."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description:<44}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[more]}"),
        )
        self._live = console.is_terminal
        self._bars = Progress(*columns, console=console, transient=True, disable=not self._live)
        self._all = self._bars.add_task("jobs", more="", total=None)
        self._one = self._bars.add_task("", more="", total=None)

    def __enter__(self) -> "Display":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def begin(self, jobs: Sequence[Job], done: int, left_s: float | None) -> None:
        """All jobs, and how many of them are finished already."""
        self._bars.update(self._all, total=len(jobs), completed=done, more=_left(left_s))
        self._say(f"{len(jobs)} jobs, {done} of them finished before; {_left(left_s)}")

    def start(self, job: Job, epochs: int) -> None:
        """A job starts."""
        self._bars.reset(self._one, description=_title(job), total=epochs or None, more="")

    def epoch(self, entry: Mapping[str, Any]) -> None:
        """An epoch of the job is over, or a block of the steps before the first."""
        if "before" in entry:
            done = f"{entry['before']}: step {entry['step']} of {entry['of']}, {entry['value']:.4f}"
            self._bars.update(self._one, more=done)
            return
        score = f"loss {entry['loss']:.3f}, validation {entry['validation']:.4f} (best {entry['best']:.4f})"
        self._bars.update(self._one, advance=1, more=score)

    def finish(self, job: Job, facts: Facts, left_s: float | None) -> None:
        """A job is over."""
        self._bars.update(self._all, advance=1, more=_left(left_s))
        score = "" if facts.validation is None else f", validation {facts.validation:.4f} after {facts.epochs} epochs"
        self._say(f"{_title(job)}: {in_words(facts.seconds)}{score}; {_left(left_s)}")

    def fail(self, failure: Failure) -> None:
        """A job could not be finished."""
        self._bars.update(self._all, advance=1)
        print(f"{failure.study}, {failure.model}, seed {failure.seed}: {failure.problem}", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        if not self._live:
            print(text, file=sys.stderr, flush=True)


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {in_words(seconds)} left"


def _title(job: Job) -> str:
    where = job.study.name if job.turn.name == "all" else f"{job.study.name}, {job.turn.name}"
    return f"{where}: {job.variant.name}, seed {job.seed}"

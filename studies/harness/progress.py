"""A long run on the terminal: jobs done, epochs of the one that runs, and how long the rest will take."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from studies.harness.work import Facts, Job
from unmixnet.cli.output import message, progress

__all__ = ["Display", "Failure", "RemainingTime", "Reporter", "in_words"]


@dataclass(frozen=True)
class Failure:
    """A job that could not be finished, and why."""

    study: str
    turn: str
    model: str
    seed: int
    problem: str


class Reporter:
    """Progress of a long run; this one reports nothing."""

    def begin(self, jobs: Sequence[Job], done: int, left_s: float | None) -> None:
        """All jobs, and how many of them are finished already."""

    def start(self, job: Job, epochs: int) -> None:
        """A job starts; it has at most so many epochs, 0 if it has none."""

    def epoch(self, entry: Mapping[str, Any]) -> None:
        """An epoch of the job is over."""

    def finish(self, job: Job, facts: Facts, left_s: float | None) -> None:
        """A job is over."""

    def fail(self, failure: Failure) -> None:
        """A job could not be finished."""


class RemainingTime:
    """Seconds that jobs took, and an estimate for those that are left."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], list[float]] = {}

    def add(self, job: Job, seconds: float) -> None:
        """Note how long a job took."""
        for kind in _kinds(job):
            self._known.setdefault(kind, []).append(seconds)

    def left(self, jobs: Iterable[Job]) -> float | None:
        """Seconds for these jobs; None while nothing is known.

        A job is expected to take as long as the same model did in its study, else in other studies, else as its kind
        (networks, peers), else as all jobs.
        """
        if not self._known:
            return None
        return sum(fmean(next(self._known[kind] for kind in _kinds(job) if kind in self._known)) for job in jobs)


def _kinds(job: Job) -> tuple[tuple[object, ...], ...]:
    """Kinds of a job, the most specific first."""
    model = job.variant.name
    return ((job.study.name, model), (model,), (type(job.variant),), ())


def in_words(seconds: float | None) -> str:
    """E.g. "1 h 20 min"."""
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Display(Reporter):
    """Two bars on stderr; where that is no terminal, a line for each finished job."""

    def __init__(self) -> None:
        self._context = progress()

    def __enter__(self) -> "Display":
        self._display = self._context.__enter__()
        self._jobs, self._job = self._display.bar("jobs"), self._display.bar("")
        return self

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)

    def begin(self, jobs: Sequence[Job], done: int, left_s: float | None) -> None:
        """All jobs, and how many of them are finished already."""
        self._jobs.update(total=len(jobs), completed=done, note=_left(left_s))
        self._display.log(f"{len(jobs)} jobs, {done} of them finished before; {_left(left_s)}")

    def start(self, job: Job, epochs: int) -> None:
        """A job starts."""
        self._job.restart(_title(job), epochs or None)

    def epoch(self, entry: Mapping[str, Any]) -> None:
        """An epoch of the job is over, or a block of the steps before the first."""
        if "before" in entry:
            done = f"{entry['before']}: step {entry['step']} of {entry['of']}, {entry['value']:.4f}"
            self._job.update(note=done)
            return
        score = f"loss {entry['loss']:.3f}, validation {entry['validation']:.4f} (best {entry['best']:.4f})"
        self._job.update(note=score)
        self._job.advance()

    def finish(self, job: Job, facts: Facts, left_s: float | None) -> None:
        """A job is over."""
        self._jobs.update(note=_left(left_s))
        self._jobs.advance()
        score = "" if facts.validation is None else f", validation {facts.validation:.4f} after {facts.epochs} epochs"
        self._display.log(f"{_title(job)}: {in_words(facts.seconds)}{score}; {_left(left_s)}")

    def fail(self, failure: Failure) -> None:
        """A job could not be finished."""
        self._jobs.advance()
        message(f"{failure.study}, {failure.model}, seed {failure.seed}: {failure.problem}")


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {in_words(seconds)} left"


def _title(job: Job) -> str:
    where = job.study.name if job.fold.name == "all" else f"{job.study.name}, {job.fold.name}"
    return f"{where}: {job.variant.name}, seed {job.seed}"

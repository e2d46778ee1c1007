"""How long the rest of a study takes, from how long its finished parts took."""

from collections.abc import Iterable
from statistics import fmean

from studies.harness.work import Job

__all__ = ["Pace", "in_words"]


class Pace:
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
    """What a job is, the most telling first."""
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

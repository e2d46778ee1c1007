"""Trainings on a Ray cluster: all seeds of a model in one task, each finished one kept in the work folder."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from studies.harness.remaining_time import Pace
from studies.harness.run import Failure, Options, Watch, alike_of, run_jobs
from studies.harness.variants import Inverse
from studies.harness.work import Job, Work
from unmixnet.errors import UnmixError
from unmixnet.inference.archive.workers import OnRay, Place, spread

__all__ = ["sweep"]


def sweep(
    todo: Sequence[Job],
    work: Work,
    root: str | Path | None,
    options: Options,
    watch: Watch,
    pace: Pace,
    place: Place | None = None,
) -> list[Failure]:
    """Run jobs that are not there yet, as `run_jobs` does in one process; the same files come out.

    A task whose worker dies goes to another, which finds the seeds that were finished in the work folder. That folder
    has to be one that every node sees.
    """
    left, failures = list(todo), []
    where = None if root is None else Path(root).resolve()
    folder = Work(work.folder.resolve(), stale=work.stale)
    run = partial(run_jobs, work=folder, root=where, options=replace(options, ray=None))
    # an inverse needs the weights of its network: a second round
    for inverse in (False, True):
        groups = alike_of([job for job in todo if isinstance(job.variant, Inverse) == inverse])
        for group, failed in spread(run, groups, place or OnRay(options.ray or "local")) if groups else ():
            for failure in failed:
                failures.append(failure)
                watch.fail(failure)
            lost = {failure.seed for failure in failed}
            for job in group:
                left.remove(job)
                if job.seed not in lost:
                    _tell(job, work, watch, pace, left)
    return failures


def _tell(job: Job, work: Work, watch: Watch, pace: Pace, left: Sequence[Job]) -> None:
    """A job that a worker finished."""
    result = work.read(job)
    if result is None:
        raise UnmixError(
            "a worker finished a job and its result is not here",
            where=str(work.folder / job.place),
            remedy="Use a --work folder that every node of the cluster sees",
        )
    pace.add(job, result.facts.seconds)
    watch.finish(job, result.facts, pace.left(left))

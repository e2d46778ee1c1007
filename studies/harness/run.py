"""Run studies, in this process or on a Ray cluster, skipping what the work folder already has."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import jax

from studies.harness.benches import Bench, ClassicalBench, InverseBench, NetworkBench, SteadyBench, bench_for
from studies.harness.jobs import _QUICK_INVERSE, Options, _job, config_of, source_of, task_of
from studies.harness.progress import Failure, RemainingTime, Reporter
from studies.harness.variants import Classical, Inverse, Network, Posterior
from studies.harness.work import Job, Work
from unmixnet.errors import UnmixError
from unmixnet.files.provenance import provenance
from unmixnet.inference.archive.workers import OnRay, Place, spread
from unmixnet.model.baselines.direct_inverse import InverseSettings
from unmixnet.recordings.pieces import Recall
from unmixnet.training.trainer import TrainingError

__all__ = ["alike_of", "run_jobs", "sweep"]


def run_jobs(
    jobs: Sequence[Job], work: Work, root: str | Path | None, options: Options, watch: Reporter | None = None
) -> list[Failure]:
    """Run what is not there yet; a training that breaks down is reported, and the others go on."""
    watch, pace, failures = watch or Reporter(), RemainingTime(), []
    known = {job.place: work.read(job) for job in jobs}
    for job in jobs:
        if (result := known[job.place]) is not None:
            pace.add(job, result.facts.seconds)
    todo = [job for job in jobs if known[job.place] is None]
    watch.begin(jobs, len(jobs) - len(todo), pace.left(todo))
    if options.ray is not None:
        return sweep(todo, work, root, options, watch, pace)
    commit, recall = str(provenance("")["commit"]), Recall(root)
    before = None
    for alike in alike_of(todo):
        bench, now = None, alike[0].variant.name
        if now != before:
            jax.clear_caches()  # folds of one model share compiled programs, models do not
        before = now
        for job in alike:
            watch.start(job, _epochs(job, options))
            try:
                bench = bench or _bench(job, work, recall, options)
                result, weights = bench.run(job.seed, watch.epoch)
                result = replace(result, facts=replace(result.facts, commit=commit, code=job.code))
                if isinstance(job.variant, Network) and job.variant.keep:
                    work.write_weights(job, weights)
                work.write(job, result)
            except TrainingError as error:
                failures.append(Failure(job.study.name, job.fold.name, job.variant.name, job.seed, str(error)))
                watch.fail(failures[-1])
                continue
            finally:
                todo.remove(job)
            pace.add(job, result.facts.seconds)
            watch.finish(job, result.facts, pace.left(todo))
    return failures


def alike_of(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that differ by their seed only: they share data and compiled programs."""
    by = groupby(jobs, key=lambda job: (job.study.name, job.fold.name, job.variant.name))
    return [list(group) for _, group in by]


def _bench(job: Job, work: Work, recall: Recall, options: Options) -> Bench:
    variant, study, fold = job.variant, job.study, job.fold
    if isinstance(variant, Classical):
        return ClassicalBench(variant, fold, recall, task_of(study))
    if isinstance(variant, Posterior):
        return SteadyBench(variant, fold, recall)
    if isinstance(variant, Network):
        return bench_for(fold)(config_of(study, variant, options), fold, recall)
    network = source_of(study, variant)
    jobs = {seed: _job(study, fold, network, seed, options) for seed in range(options.seeds)}
    bench = NetworkBench(config_of(study, network, options), fold, recall)
    return InverseBench(bench, jobs, work, _QUICK_INVERSE if options.quick else InverseSettings())


def _epochs(job: Job, options: Options) -> int:
    variant = job.variant
    return config_of(job.study, variant, options).training.epochs if isinstance(variant, Network) else 0


def sweep(
    todo: Sequence[Job],
    work: Work,
    root: str | Path | None,
    options: Options,
    watch: Reporter,
    pace: RemainingTime,
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
                    _report(job, work, watch, pace, left)
    return failures


def _report(job: Job, work: Work, watch: Reporter, pace: RemainingTime, left: Sequence[Job]) -> None:
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

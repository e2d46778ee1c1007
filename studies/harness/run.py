"""Run studies: every model on every turn with every seed, skipping what the work folder already has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import jax

from studies.ablation.concentrated import bench_for
from studies.harness import work as code
from studies.harness.benches import Bench, ClassicalBench, InverseBench, NetworkBench, SteadyBench
from studies.harness.definitions import Study
from studies.harness.folds import Turn, turns_of
from studies.harness.remaining_time import Pace
from studies.harness.variants import UNMIXNET, Classical, Inverse, Network, Posterior, Variant, changed
from studies.harness.work import Facts, Job, Work, code_version, fingerprint
from studies.peers.models import PEERS
from unmixnet.errors import UnmixError
from unmixnet.files.provenance import provenance
from unmixnet.model.baselines.direct_inverse import InverseSettings
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.samples import Task
from unmixnet.training.config import TrainConfig
from unmixnet.training.recipes import recipe
from unmixnet.training.trainer import TrainingError

__all__ = [
    "Failure",
    "Options",
    "Watch",
    "alike_of",
    "config_of",
    "idle",
    "jobs_of",
    "run_jobs",
    "task_of",
    "turn_jobs",
]

QUICK = {"training.epochs": 3, "training.patience": 3}
QUICK_STEPS = {"calibration": 50, "schooling": 50, "polish": 1, "bank": 256}
"""At most."""
_QUICK_INVERSE = InverseSettings(pure_starts=1, most_steps=5)


@dataclass(frozen=True)
class Options:
    """How much of a study is run.

    Arguments:
        seeds: for each model that has one; a study may ask for fewer.
        size: of the networks.
        quick: few epochs, for a first look.
        changes: further changes of every network's recipe.
        ray: address of a Ray cluster that the trainings are spread over, or `local`; None trains in this process.
    """

    seeds: int = 1
    size: str = "small"
    quick: bool = False
    changes: tuple[tuple[str, Any], ...] = ()
    ray: str | None = None


@dataclass(frozen=True)
class Failure:
    """A job that could not be finished, and why."""

    study: str
    turn: str
    model: str
    seed: int
    problem: str


class Watch:
    """What a long run tells; this one says nothing."""

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


def task_of(study: Study) -> Task:
    """What the study's recipe predicts."""
    return Task(recipe(study.recipe).data.task)


def config_of(study: Study, variant: Network, options: Options) -> TrainConfig:
    """The recipe of a network in a study."""
    changes: dict[str, Any] = {"data.protocol": study.protocols[0], "model.size": options.size, **variant.changes}
    base = recipe(study.recipe)
    if options.quick:
        most = {key: min(getattr(base.training, key), most) for key, most in QUICK_STEPS.items()}
        changes |= QUICK | {f"training.{key}": value for key, value in most.items()}
    return changed(base, changes | dict(options.changes))


def idle(study: Study, options: Options) -> list[str]:
    """Ablations that change nothing in the study's recipe: they would be UnMixNet itself, and are not run."""
    plain = config_of(study, UNMIXNET, options)
    others = [v for v in study.variants if isinstance(v, Network) and v.changes]
    return [variant.name for variant in others if config_of(study, variant, options) == plain]


def jobs_of(studies: Sequence[Study], root: str | Path | None, options: Options) -> list[Job]:
    """Every job, in the order in which they are run: a model's turns follow each other, in them its seeds."""
    jobs = []
    for study in studies:
        of_turns = [turn_jobs(study, turn, options) for turn in turns_of(study.protocols, root, groups=study.groups)]
        rank = [variant.name for variant in study.variants]
        jobs += sorted(chain.from_iterable(of_turns), key=lambda job: rank.index(job.variant.name))
    return jobs


def turn_jobs(study: Study, turn: Turn, options: Options) -> list[Job]:
    """The jobs of one turn of a study."""
    most, same = min(options.seeds, study.most_seeds), idle(study, options)
    seeds = {v: min(most, v.most_seeds) if v.seeded else 1 for v in study.variants if v.name not in same}
    wanted = [(variant, seed) for variant, n in seeds.items() for seed in range(n)]
    return [_job(study, turn, variant, seed, options) for variant, seed in wanted]


def _job(study: Study, turn: Turn, variant: Variant, seed: int, options: Options) -> Job:
    key = fingerprint(turn, *_ingredients(study, variant, options))
    return Job(study, turn, variant, seed, key, _code(variant))


def _code(variant: Variant) -> str:
    """Version of the code that a result of this model depends on."""
    if isinstance(variant, Classical):
        return code_version(code.PEER)
    if isinstance(variant, Inverse):
        return code_version(code.INVERSE)
    if isinstance(variant, Posterior):
        return code_version(code.STEADY)
    return code_version(code.BASELINE if "model.name" in variant.changes else code.UNMIXNET)


def run_jobs(
    jobs: Sequence[Job], work: Work, root: str | Path | None, options: Options, watch: Watch | None = None
) -> list[Failure]:
    """Run what is not there yet; a training that breaks down is reported, and the others go on."""
    watch, pace, failures = watch or Watch(), Pace(), []
    known = {job.place: work.read(job) for job in jobs}
    for job in jobs:
        if (result := known[job.place]) is not None:
            pace.add(job, result.facts.seconds)
    todo = [job for job in jobs if known[job.place] is None]
    watch.begin(jobs, len(jobs) - len(todo), pace.left(todo))
    if options.ray is not None:
        from studies.harness.sweep import sweep

        return sweep(todo, work, root, options, watch, pace)
    commit, recall = str(provenance("")["commit"]), Recall(root)
    before = None
    for alike in alike_of(todo):
        bench, now = None, alike[0].variant.name
        if now != before:
            jax.clear_caches()  # turns of one model share compiled programs, models do not
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
                failures.append(Failure(job.study.name, job.turn.name, job.variant.name, job.seed, str(error)))
                watch.fail(failures[-1])
                continue
            finally:
                todo.remove(job)
            pace.add(job, result.facts.seconds)
            watch.finish(job, result.facts, pace.left(todo))
    return failures


def alike_of(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that differ by their seed only: they share data and compiled programs."""
    by = groupby(jobs, key=lambda job: (job.study.name, job.turn.name, job.variant.name))
    return [list(group) for _, group in by]


def _bench(job: Job, work: Work, recall: Recall, options: Options) -> Bench:
    variant, study, turn = job.variant, job.study, job.turn
    if isinstance(variant, Classical):
        return ClassicalBench(variant, turn, recall, task_of(study))
    if isinstance(variant, Posterior):
        return SteadyBench(variant, turn, recall)
    if isinstance(variant, Network):
        return bench_for(turn)(config_of(study, variant, options), turn, recall)
    network = source_of(study, variant)
    jobs = {seed: _job(study, turn, network, seed, options) for seed in range(options.seeds)}
    bench = NetworkBench(config_of(study, network, options), turn, recall)
    return InverseBench(bench, jobs, work, _QUICK_INVERSE if options.quick else InverseSettings())


def source_of(study: Study, variant: Inverse) -> Network:
    """The network whose coefficients an inverse uses, as every study of its command has it."""
    found = [v for v in (*study.variants, UNMIXNET) if isinstance(v, Network) and v.name == variant.of]
    if not found:
        raise UnmixError(f"{variant.name} needs {variant.of!r}", where=study.name, remedy="Add it to the study")
    return found[0]


def _ingredients(study: Study, variant: Variant, options: Options) -> tuple[Any, ...]:
    """What a result depends on, besides the recordings and the seed."""
    if isinstance(variant, Classical):
        peer = PEERS[variant.peer]
        return (task_of(study), variant.windows.to_json(), peer.name, peer.features.name, peer.how)
    if isinstance(variant, Posterior):
        return (variant.windows.to_json(), variant.name)
    if isinstance(variant, Network):
        return (_relevant(config_of(study, variant, options)),)
    settings = _QUICK_INVERSE if options.quick else InverseSettings()
    return (*_ingredients(study, source_of(study, variant), options), repr(settings))


def _relevant(config: TrainConfig) -> str:
    """The recipe as far as the model uses it: a baseline has no physics, so nothing said of it counts."""
    later = {
        section: {key for key in keys if _is_default(getattr(config, section), key)} for section, keys in _LATER.items()
    }
    if config.model.name == "unmixnet":
        return config.model_dump_json(exclude=later)
    return config.model_dump_json(
        exclude={
            "objective": True,
            "data": later["data"],
            "model": {item.name for item in fields(config.model)} - {"name", "size", "rate_Hz"},
            "training": {item.name for item in fields(config.training) if item.name.startswith("virtual")}
            | {"bank", "calibration", "physics_rate", "polish", "schooling", "solved", "teacher"}
            | later["training"],
        }
    )


_LATER = {"data": ("difference",), "model": ("reading",), "training": ("refit", "windows")}
"""Keys that recipes did not always have; at its default such a key says nothing new."""


def _is_default(section: Any, key: str) -> bool:
    if is_dataclass(section):
        return getattr(section, key) == next(item.default for item in fields(section) if item.name == key)
    return getattr(section, key) == type(section).model_fields[key].default


def _epochs(job: Job, options: Options) -> int:
    variant = job.variant
    return config_of(job.study, variant, options).training.epochs if isinstance(variant, Network) else 0

"""The trainings of a study: every model on every fold with every seed, and what its result depends on."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from studies.harness import work as code
from studies.harness.definitions import Study, StudyFold, study_folds
from studies.harness.variants import UNMIXNET, Classical, Inverse, Network, Posterior, Variant, changed
from studies.harness.work import Job, code_version, fingerprint
from studies.peers.models import PEERS
from unmixnet.errors import UnmixError
from unmixnet.model.baselines.direct_inverse import InverseSettings
from unmixnet.recordings.samples import Task
from unmixnet.training.config import TrainConfig
from unmixnet.training.recipes import recipe

__all__ = ["Options", "config_of", "fold_jobs", "idle", "jobs_of", "task_of"]

QUICK = {"training.epochs": 3, "training.patience": 3}
QUICK_STEPS = {"calibration": 50, "schooling": 50, "polish": 1, "bank": 256}
"""At most."""
_QUICK_INVERSE = InverseSettings(pure_starts=1, most_steps=5)


@dataclass(frozen=True)
class Options:
    """How much of a study is run.

    Arguments:
        seeds: for each model that has one; a study may use fewer.
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
    """Every job, in the order in which they are run: a model's folds follow each other, in them its seeds."""
    jobs = []
    for study in studies:
        of_folds = [fold_jobs(study, fold, options) for fold in study_folds(study.protocols, root, groups=study.groups)]
        rank = [variant.name for variant in study.variants]
        jobs += sorted(chain.from_iterable(of_folds), key=lambda job: rank.index(job.variant.name))
    return jobs


def fold_jobs(study: Study, fold: StudyFold, options: Options) -> list[Job]:
    """The jobs of one fold of a study."""
    most, same = min(options.seeds, study.most_seeds), idle(study, options)
    seeds = {v: min(most, v.most_seeds) if v.seeded else 1 for v in study.variants if v.name not in same}
    wanted = [(variant, seed) for variant, n in seeds.items() for seed in range(n)]
    return [_job(study, fold, variant, seed, options) for variant, seed in wanted]


def _job(study: Study, fold: StudyFold, variant: Variant, seed: int, options: Options) -> Job:
    key = fingerprint(fold, *_ingredients(study, variant, options))
    return Job(study, fold, variant, seed, key, _code(variant))


def _code(variant: Variant) -> str:
    """Version of the code that a result of this model depends on."""
    if isinstance(variant, Classical):
        return code_version(code.PEER)
    if isinstance(variant, Inverse):
        return code_version(code.INVERSE)
    if isinstance(variant, Posterior):
        return code_version(code.STEADY)
    return code_version(code.BASELINE if "model.name" in variant.changes else code.UNMIXNET)


def source_of(study: Study, variant: Inverse) -> Network:
    """The network whose coefficients an inverse uses, as every study of its command has it."""
    networks = [v for v in (*study.variants, UNMIXNET) if isinstance(v, Network) and v.name == variant.of]
    if not networks:
        raise UnmixError(f"{variant.name} needs {variant.of!r}", where=study.name, remedy="Add it to the study")
    return networks[0]


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
    """The recipe as far as the model uses it: a baseline has no physics, so those keys are left out."""
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
"""Keys that were added to recipes later; at its default such a key is left out of the hash."""


def _is_default(section: Any, key: str) -> bool:
    if is_dataclass(section):
        return getattr(section, key) == next(item.default for item in fields(section) if item.name == key)
    return getattr(section, key) == type(section).model_fields[key].default

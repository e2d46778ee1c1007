"""Bundles from finished studies, and the shipped ones on recordings that none of them has seen."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from studies.harness.benches import NetworkBench, trained
from studies.harness.definitions import Study, study_folds
from studies.harness.jobs import Options, config_of, fold_jobs
from studies.harness.variants import UNMIXNET
from studies.harness.work import Work
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import Bundle, load_model
from unmixnet.inference.evaluate import evaluate, scoring_set
from unmixnet.recordings.pieces import Recall
from unmixnet.training.make_bundle import ValidationScores, make_bundle
from unmixnet.training.trainer import Fit

__all__ = ["SHIPPED", "bundle_of", "shipped_scores"]


def bundle_of(
    study: Study, root: str | Path | None, work: Work, options: Options, *, name: str, seed: int = 0
) -> tuple[Bundle, ValidationScores | None]:
    """The bundle of UnMixNet as a study trained it, calibrated on the study's own validation recordings."""
    fold = study_folds(study.protocols, root, groups=study.groups)[0]
    jobs = [job for job in fold_jobs(study, fold, options) if job.variant is UNMIXNET and job.seed == seed]
    if not jobs or (result := work.read(jobs[0])) is None:
        raise ConfigError(
            f"no finished training of unmixnet with seed {seed} in the study {study.name}",
            where=str(work.folder),
            remedy="Run `python -m studies` with the same --work folder first",
        )
    bench = NetworkBench(config_of(study, UNMIXNET, options), fold, Recall(root))
    model, facts = trained(bench, jobs[0], work), result.facts
    again = bench.config.training.refit and bench.prepared.validation is not None
    judge = trained(bench, jobs[0], work, judge=True) if again else model
    fit = Fit(model, judge, facts.validation or 0.0, facts.best_epoch, facts.epochs, ())
    with jax.enable_x64(False):
        return make_bundle(name, bench.prepared, fit, bench.recordings)


SHIPPED = {
    "simulated": ("simulated:seen", "simulated:unseen"),
    "smellnet-mixture": ("smellnet-mixture:clean:seen", "smellnet-mixture:clean:unseen"),
    "smellnet-base": ("smellnet-base:official",),
}
"""Bundles and the tests that they are scored on."""
Progress = Callable[[str, int], Callable[[], None]]


def shipped_scores(data: Path | None, progress: Progress) -> Iterator[dict[str, Any]]:
    """One record for each bundle and test: the output of `unmixnet evaluate`."""
    for name, splits in SHIPPED.items():
        bundle = load_model(name)
        for split in splits:
            test = scoring_set(bundle, split, data, progress=progress)
            tick = progress(f"Scoring {name} on {split}", 1)
            scores = evaluate(bundle, test).to_json()
            tick()
            yield {"bundle": name, "digest": bundle.digest, **scores}

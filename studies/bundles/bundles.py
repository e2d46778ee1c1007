"""A bundle from a finished study: what ships is what the tables describe."""

from pathlib import Path

import jax

from studies.harness.benches import NetworkBench, trained
from studies.harness.definitions import Study
from studies.harness.folds import turns_of
from studies.harness.run import Options, config_of, turn_jobs
from studies.harness.variants import UNMIXNET
from studies.harness.work import Work
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import Bundle
from unmixnet.recordings.pieces import Recall
from unmixnet.training.make_bundle import Scores, make_bundle
from unmixnet.training.trainer import Fit

__all__ = ["bundle_of"]


def bundle_of(
    study: Study, root: str | Path | None, work: Work, options: Options, *, name: str, seed: int = 0
) -> tuple[Bundle, Scores | None]:
    """The bundle of UnMixNet as a study trained it, calibrated on the study's own validation recordings."""
    turn = turns_of(study.protocols, root, groups=study.groups)[0]
    jobs = [job for job in turn_jobs(study, turn, options) if job.variant is UNMIXNET and job.seed == seed]
    if not jobs or (result := work.read(jobs[0])) is None:
        raise ConfigError(
            f"no finished training of unmixnet with seed {seed} in the study {study.name}",
            where=str(work.folder),
            remedy="Run `python -m studies` with the same --work folder first",
        )
    bench = NetworkBench(config_of(study, UNMIXNET, options), turn, Recall(root))
    model, facts = trained(bench, jobs[0], work), result.facts
    again = bench.config.training.refit and bench.prepared.validation is not None
    judge = trained(bench, jobs[0], work, judge=True) if again else model
    fit = Fit(model, judge, facts.validation or 0.0, facts.best_epoch, facts.epochs, ())
    with jax.enable_x64(False):
        return make_bundle(name, bench.prepared, fit, bench.recordings)

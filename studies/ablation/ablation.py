"""`python -m studies ablation`: what each rule is worth, on new mixtures and under strong diffusive coupling."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from studies.ablation.closure_scores import METRICS, RatioTally, closure_tallies, state_tallies, tally_row
from studies.ablation.coupling import FRACTIONS, coupling
from studies.harness import work as code
from studies.harness.benches import bench_for, trained
from studies.harness.definitions import Study
from studies.harness.jobs import Options, config_of, jobs_of
from studies.harness.progress import Reporter
from studies.harness.results import StudyResult, gather
from studies.harness.variants import UNMIXNET, Network
from studies.harness.work import Job, Work, code_version
from studies.states.state_scores import CellStates, true_states_of
from unmixnet.inference.scores import Row
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.maxwell_stefan import Form
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import clean_air, with_samples
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import NAMES, Piece
from unmixnet.recordings.simulated import is_simulated, plan_of, setting_of, shares
from unmixnet.simulation.simulated_nose import Setting, true_process

__all__ = ["REFERENCES", "closure_rows", "gather_ablation", "reference_rows", "reference_states"]

REFERENCES: dict[str, Form] = {
    "true coefficients, 8 cells, 1 s": "exact",
    "the same with fick": "fick",
    "the same with an unconstrained flux": "unconstrained",
}
"""What the model's own cells and steps cost when every coefficient is right: nothing is learned here."""


def gather_ablation(
    command: str,
    studies: Sequence[Study],
    root: str | Path | None,
    work: Work,
    options: Options,
    watch: Reporter | None = None,
    *,
    finished: bool = False,
) -> StudyResult:
    """Run or collect the studies, then the closure of their rollouts and the laws from 1 ppm to half of the air."""
    gathered = gather(command, studies, root, work, options, watch, finished=finished)
    rows = closure_rows(jobs_of(studies, root, options), work, root, options)
    fractions = FRACTIONS[::4] if options.quick else FRACTIONS
    version = [
        fractions,
        code_version(("physics", "recordings/simulated.py", "simulation/simulated_nose.py", "ablation/coupling.py")),
    ]
    laws = work.remembered("coupling", version, lambda: [asdict(row) for row in coupling(fractions)])
    result = {**gathered.result, "coupling": laws}
    result["rows"] = [*gathered.result["rows"], *(asdict(row) for row in rows)]
    return StudyResult(result, gathered.answers)


def closure_rows(jobs: Sequence[Job], work: Work, root: str | Path | None, options: Options) -> list[Row]:
    """Rows of every network whose weights were kept on every fold of a study, and of the true coefficients."""
    rows: list[Row] = []
    for study in dict.fromkeys(job.study for job in jobs):
        mine = [job for job in jobs if job.study is study]
        truths = _truths(mine, root, options)
        for protocol in study.protocols:
            rows += reference_rows(mine[0], protocol, truths) if truths else []
        for variant in study.variants:
            if isinstance(variant, Network) and "model.name" not in variant.changes:
                seeds = [job for job in mine if job.variant is variant]
                rows += _network_rows(study, variant, seeds, work, root, options, truths)
    return rows


def _truths(jobs: Sequence[Job], root: str | Path | None, options: Options) -> dict[str, CellStates]:
    """True states of the tests of a simulated study, which has one fold."""
    fold = jobs[0].fold
    if not is_simulated(fold.data):
        return {}
    bench = bench_for(fold)(config_of(jobs[0].study, UNMIXNET, options), fold, Recall(root))
    return {protocol: true_states_of(bench, pieces) for protocol, pieces in fold.tests.items()}


def _network_rows(
    study: Study,
    variant: Network,
    jobs: Sequence[Job],
    work: Work,
    root: str | Path | None,
    options: Options,
    truths: dict[str, CellStates],
) -> list[Row]:
    """Rows of one network: seeds count that have weights on every fold."""
    if not config_of(study, variant, options).model.closure:
        return []
    seeds = [s for s in dict.fromkeys(job.seed for job in jobs) if _kept(jobs, s, work)]
    by_seed = [_joined([_tallies(j, work, root, options, truths) for j in jobs if j.seed == s]) for s in seeds]
    rows = []
    for protocol in study.protocols if seeds else ():
        pieces = [piece for job in jobs if job.seed == seeds[0] for piece in job.fold.tests[protocol]]
        for metric in METRICS:
            if metric in by_seed[0][protocol]:
                about = (protocol, jobs[0].fold.splits[protocol], variant.name, metric)
                rows.append(
                    tally_row(about, [tallies[protocol][metric] for tallies in by_seed], _groups(protocol, pieces))
                )
    return rows


def _kept(jobs: Sequence[Job], seed: int, work: Work) -> bool:
    return all(work.read_weights(job) is not None for job in jobs if job.seed == seed)


Tallies = dict[str, dict[str, RatioTally]]
"""By protocol and metric."""


def _tallies(job: Job, work: Work, root: str | Path | None, options: Options, truths: dict[str, CellStates]) -> Tallies:
    """Of one training; computed once and kept in the work folder."""
    variant = job.variant
    assert isinstance(variant, Network)

    def make() -> dict[str, Any]:
        bench = bench_for(job.fold)(config_of(job.study, variant, options), job.fold, Recall(root))
        model = trained(bench, job, work)
        assert isinstance(model, UnMixNet)
        tests = job.fold.tests.items()
        return {protocol: closure_tallies(bench, model, pieces, truths.get(protocol)) for protocol, pieces in tests}

    version = [str(job.place), work.digest(job), code_version((*code.UNMIXNET, "ablation/closure_scores.py"))]
    name = f"closure {job.study.name} {job.fold.name} {variant.name} {job.seed}"
    kept = work.remembered(name, version, make)
    return {p: {metric: RatioTally(**tally) for metric, tally in tallies.items()} for p, tallies in kept.items()}


def _joined(parts: Sequence[Tallies]) -> Tallies:
    """Of all folds together."""
    whole = parts[0]
    for part in parts[1:]:
        whole = {p: {m: tally.joined(part[p][m]) for m, tally in tallies.items()} for p, tallies in whole.items()}
    return whole


def _groups(protocol: str, pieces: Sequence[Piece]) -> list[str]:
    if NAMES[protocol][1] == "recording":
        return [piece.path for piece in pieces]
    return ["+".join(sorted(piece.label.support)) if piece.label else "" for piece in pieces]


def reference_rows(job: Job, protocol: str, truths: dict[str, CellStates]) -> list[Row]:
    """Errors of flux and concentration with the true coefficients in the model's cells and steps."""
    setting, pieces = setting_of(job.fold.data), job.fold.tests[protocol]
    paths, truth, rows = plan_of(setting).paths, truths[protocol], []
    released = shares(setting)[[paths.index(piece.path) for piece in pieces]]
    for name, form in REFERENCES.items():
        tallies = state_tallies(reference_states(setting, released, form, truth.flux.shape[1]), truth)
        for metric, tally in tallies.items():
            about = (protocol, job.fold.splits[protocol], name, metric)
            rows.append(tally_row(about, [tally], _groups(protocol, pieces)))
    return rows


def reference_states(setting: Setting, released: np.ndarray, form: Form, seconds: int) -> CellStates:
    """States of the true process on the coarse chamber in steps of a second, with the flux by `form`."""
    with jax.enable_x64(False):
        geometry, process = with_samples((setting.chamber.geometry(), true_process(setting)))
        process = eqx.tree_at(lambda p: p.diffusion, process, replace(process.diffusion, form=form))

        @jax.jit
        def run(share: jax.Array) -> Any:
            this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * share)
            start, dt = clean_air(this, geometry), jnp.asarray(1.0)
            policy = Policy(order=1)
            return rollout(this, geometry, start, dt, seconds, save=("N", "J", "theta"), policy=policy).saved

        saved = run(jnp.asarray(released.T, float))
        # from (second, species, place, recording)
        N, J, theta = (np.asarray(leaf, float)[:, 1:].transpose(3, 0, 2, 1) for leaf in (saved.N, saved.J, saved.theta))
    return CellStates(N / setting.chamber.volume_m3[:, None], J, theta)

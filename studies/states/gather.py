"""`python -m studies states`: train every model in every world, judge its states, and collect the rows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from studies.harness.benches import NetworkBench
from studies.harness.definitions import Study, study_folds
from studies.harness.jobs import Options, config_of, fold_jobs
from studies.harness.progress import Reporter
from studies.harness.results import collect
from studies.harness.run import run_jobs
from studies.harness.variants import BASELINES, UNMIXNET, Classical, Network, Posterior, Variant
from studies.harness.work import Job, Work
from studies.peers.models import PEERS
from studies.peers.tables import MIXTURE_RECORDINGS, MIXTURE_WINDOWS
from studies.states.judge import Verdict, judge_network, judge_nulls
from studies.states.networks import restored
from studies.states.physical import mean_row, rmse_row, units
from studies.states.worlds import WORLDS, StateWorld, make_world
from unmixnet.errors import ConfigError
from unmixnet.files.provenance import provenance
from unmixnet.inference.scores import Row
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.preprocessing import Response
from unmixnet.recordings.protocols import NAMES, Piece
from unmixnet.recordings.samples import per_recording
from unmixnet.training.calibration import FrozenSimulator
from unmixnet.training.recipes import recipe

__all__ = ["MODELS", "PROTOCOLS", "Judged", "gather_states", "network_verdict", "study_of"]

PROTOCOLS = ("smellnet-mixture:clean:seen", "smellnet-mixture:clean:unseen")
_NETWORKS = ("adr-gnn", "mlp", "cnn-lstm", "itransformer", "scentformer")
_NULLS = ("mean", "1-NN", "extra-trees")
_STEADY = Posterior(replace(MIXTURE_RECORDINGS, response=Response.LOG_CONDUCTANCE))
_PLAYED = ("extra-trees", _STEADY.name, "adr-gnn", "unmixnet")
"""Models whose recipes are played by the simulator, too: states that obey every law, from a recipe alone."""
MODELS: dict[str, Variant] = {
    **{name: Classical(name, name, MIXTURE_WINDOWS, PEERS[name].seeded) for name in _NULLS},
    _STEADY.name: _STEADY,
    "unmixnet": UNMIXNET,
    **{
        network.name: replace(network, keep=True) for name in _NETWORKS for network in BASELINES if network.name == name
    },
}
"""In the order in which they are run: the two of the paper's figures first."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A world, its jobs, the rows of the table, and further details."""

    world: StateWorld
    jobs: list[Job]
    rows: list[Row]
    details: dict[str, Any]


def study_of(world: str, models: Sequence[str] = ()) -> Study:
    """The study of one world, of all models or only the named ones; the nulls are always there."""
    for name in models:
        if name not in MODELS:
            raise ConfigError(f"no model {name!r}", remedy=f"Choose among {', '.join(MODELS)}")
    chosen = [variant for name, variant in MODELS.items() if not models or name in models or name in _NULLS]
    return Study(f"states-{world}", PROTOCOLS, "smellnet-mixture", tuple(chosen))


def gather_states(
    simulator: FrozenSimulator,
    root: str | Path | None,
    work: Work,
    options: Options,
    *,
    command: str,
    models: Sequence[str] = (),
    worlds: Sequence[str] = WORLDS,
    store: Callable[[dict[str, Any]], None] = lambda result: None,
    watch: Reporter | None = None,
    finished: bool = False,
) -> tuple[dict[str, Any], list[Judged]]:
    """The content of `states.json`, which grows world by world, and what pictures are drawn from."""
    (fold,) = study_folds(PROTOCOLS, root)
    recall, config = Recall(root), recipe("smellnet-mixture")
    steps = (config.window - 1) // config.settings.stride
    result = provenance(
        command,
        quick=options.quick,
        seeds=options.seeds,
        simulator={"sha256": simulator.sha256, "origin": simulator.origin},
        seconds=steps,
        models={name: getattr(variant, "note", "") for name, variant in MODELS.items()},
        worlds={},
        failures=[],
        missing=[],
        rows=[],
    )
    judged = []
    for name in worlds:
        world = make_world(name, simulator, fold, recall, steps=steps)
        study = study_of(name, models)
        jobs = fold_jobs(study, world.fold, options)
        failures = [] if finished else run_jobs(jobs, work, root, options, watch)
        done = _judged(world, jobs, work, options, recall)
        judged.append(done)
        result["worlds"][name] = done.details
        result["failures"] += [asdict(failure) for failure in failures]
        result["missing"] += done.details.pop("missing")
        result["rows"] += [asdict(row) for row in done.rows]
        store(result)
    return result, judged


def _judged(world: StateWorld, jobs: list[Job], work: Work, options: Options, recall: Recall) -> Judged:
    """Recipe scores, state errors and residuals of everything that is finished."""
    collected = collect(jobs, work)
    rows = [replace(row, protocol=_protocol(world, row.protocol)) for row in collected.rows if row.level == "recording"]
    share = recipe("smellnet-mixture").data.validation
    verdicts: dict[str, list[Verdict]] = {}
    penalties = {}
    for job in jobs:
        if isinstance(job.variant, Network) and work.read_weights(job) is not None:
            verdict = network_verdict(world, job, work, options, recall)
            verdicts.setdefault(job.variant.name, []).append(verdict["verdict"])
            penalties[f"{job.variant.name} {job.seed}"] = verdict["penalties"]
    nulls = judge_nulls(world, share, _recipes(jobs, work))
    for per_seed in ([nulls], *verdicts.values()):
        for reading in per_seed[0]:
            rows += _state_rows(world, reading, [verdict[reading] for verdict in per_seed])
    details = {
        "recordings": {protocol: len(pieces) for protocol, pieces in world.fold.tests.items()},
        "training": len(world.fold.train),
        "unit": units(world.of(world.fold.train), same_graph=world.same_graph),
        "spreads": world.spreads,
        "penalties": penalties,
        "facts": [asdict(facts) for facts in collected.facts],
        "missing": [f"{world.name}: {name.split(': ')[1]}" for name in collected.missing],
    }
    return Judged(world, jobs, rows, details)


def network_verdict(world: StateWorld, job: Job, work: Work, options: Options, recall: Recall) -> dict[str, Any]:
    """The verdict on one trained network; kept in the work folder."""

    def make() -> dict[str, Any]:
        assert isinstance(job.variant, Network)
        bench = NetworkBench(config_of(job.study, job.variant, options), world.fold, recall)
        verdict = judge_network(world, bench, restored(bench, job, work), job.variant.name)
        jax.clear_caches()
        return verdict

    ingredients = [str(job.place), job.code, work.digest(job), _fingerprint(world)]
    return work.remembered(f"verdict {world.name} {job.variant.name} {job.seed}", ingredients, make)


def _fingerprint(world: StateWorld) -> list[float]:
    """Changes when the reference does."""
    return [float(f"{value:.6e}") for states in (world.states,) for value in units(states).values()]


def _recipes(jobs: Sequence[Job], work: Work) -> dict[str, dict[str, np.ndarray]]:
    """Ratios of each recording by the finished models of seed 0, by protocol."""
    recipes = {}
    for job in jobs:
        if job.variant.name in _PLAYED and job.seed == 0 and (result := work.read(job)) is not None:
            guesses = result.guesses.items()
            means = {p: per_recording(np.asarray(g.values, float), [*map(str, g.owner)]) for p, g in guesses}
            recipes[job.variant.name] = means
    return recipes


def _state_rows(world: StateWorld, reading: str, per_seed: Sequence[dict[str, dict[str, list[float]]]]) -> list[Row]:
    rows = []
    for protocol, pieces in world.fold.tests.items():
        groups = _groups(protocol, pieces)
        for what in per_seed[0][protocol]:
            values = [np.array(verdict[protocol][what]) for verdict in per_seed]
            names = (_protocol(world, protocol), world.fold.splits[protocol], reading, what)
            rows.append((rmse_row if what.startswith("RMSE") else mean_row)(names, values, groups))
    return rows


def _groups(protocol: str, pieces: Sequence[Piece]) -> list[str]:
    """What is independent: recordings, or supports for new mixtures."""
    if NAMES[protocol][1] == "recording":
        return [piece.path for piece in pieces]
    return ["+".join(sorted(piece.label.support)) for piece in pieces if piece.label]


def _protocol(world: StateWorld, protocol: str) -> str:
    return f"states:{world.name}:{protocol.rpartition(':')[2]}"

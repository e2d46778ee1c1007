"""What only simulated recordings can show: bounds beside scores, inferred states and coefficients beside the truth."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from studies.harness.benches import NetworkBench, trained
from studies.harness.definitions import Study, StudyFold
from studies.harness.jobs import Options, config_of
from studies.harness.variants import UNMIXNET, Classical
from studies.harness.work import Job, Work
from studies.simulator.bounds import recording_bounds
from studies.simulator.coefficients import UNIDENTIFIABLE, coefficient_errors
from studies.simulator.recovery import recover
from studies.states.state_scores import state_scores
from unmixnet.inference.scores import RESAMPLES, Row
from unmixnet.metrics import bootstrap_interval
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.coherence import coherence
from unmixnet.recordings.fingerprints import fingerprints
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import NAMES

__all__ = ["Extras", "simulated_extras"]

BOUNDS = {"known_support": "Cramér–Rao bound, support known", "all_components": "Cramér–Rao bound, all components"}


@dataclass(frozen=True, eq=False)
class Extras:
    """Rows of the bounds, and what stands beside the table."""

    rows: list[Row]
    values: dict[str, Any]


def simulated_extras(jobs: Sequence[Job], work: Work, options: Options) -> Extras:
    """Coherence and bounds of every study, states and coefficients of its UnMixNet, and recovery from clean data."""
    rows: list[Row] = []
    studies = {}
    for study in dict.fromkeys(job.study for job in jobs):
        mine = [job for job in jobs if job.study is study]
        fold = mine[0].fold
        rows += _bound_rows(study, fold, work)
        kept = [job for job in mine if job.variant is UNMIXNET and work.read_weights(job) is not None]
        studies[study.name] = {"coherence": _coherence(study, fold), "unmixnet": _learned(kept, work, options)}
    values: dict[str, Any] = {"studies": studies}
    if not options.quick:
        values["recovery from clean data"] = work.remembered("recovery", ["12 substances, 4 sensors"], _recovery)
    return Extras(rows, values)


def _recovery() -> dict[str, Any]:
    return recover().summary()


def _coherence(study: Study, fold: StudyFold) -> dict[str, Any]:
    """Of the pure training recordings, preprocessed as for the peers."""
    recall = Recall(None)
    training = [recall(fold.data, piece) for piece in fold.train]
    ready = next(v.windows for v in _all_variants(study) if isinstance(v, Classical)).fit(training)
    result = coherence(fingerprints(training, ready.signal, align=False))
    return {
        "mu_raw": result.mu_raw,
        "mu_whitened": result.mu_whitened,
        "guaranteed": result.guaranteed,
        "confusable": result.confusable(0.7)[:6],
    }


def _all_variants(study: Study):
    """Those of the whole study, whatever was chosen to run."""
    from studies.harness.definitions import STUDIES

    (whole,) = [candidate for candidate in STUDIES["simulated"] if candidate.name == study.name]
    return whole.variants


def _bound_rows(study: Study, fold: StudyFold, work: Work) -> list[Row]:
    """Expected MAE of an efficient unbiased estimate: mean over the test recordings."""
    rows = []
    for protocol, pieces in fold.tests.items():
        place = {entry.path: i for i, entry in enumerate(fold.data.entries)}
        indices = [place[piece.path] for piece in pieces]

        def bounds(indices: list[int] = indices) -> dict[str, list[float]]:
            recordings = recording_bounds(fold.data, indices)
            return {kind: [getattr(bound, kind).expected_mae for bound in recordings] for kind in BOUNDS}

        values = work.remembered(f"bounds {protocol}", [piece.path for piece in pieces], bounds)
        for kind, title in BOUNDS.items():
            per_recording = np.array(values[kind])
            supports = ["+".join(sorted(piece.label.support)) for piece in pieces if piece.label]
            groups = supports if NAMES[protocol][1] == "support" else [piece.path for piece in pieces]
            interval = bootstrap_interval(
                lambda guess, _, weight: float(np.average(guess, weights=weight)),
                per_recording,
                np.zeros_like(per_recording),
                groups,
                resamples=RESAMPLES,
            )
            mean = float(per_recording.mean())
            about = (protocol, fold.splits[protocol], "recording", title, "MAE")
            rows.append(Row(*about, mean, 0.0, interval.lo, interval.hi, interval.groups, 1))
    return rows


def _learned(jobs: Sequence[Job], work: Work, options: Options) -> list[dict[str, Any]]:
    """For each seed, R² of the states and errors of the coefficients."""
    rows = []
    for job in jobs:

        def measured(job: Job = job) -> dict[str, Any]:
            bench = NetworkBench(config_of(job.study, UNMIXNET, options), job.fold, Recall(None))
            model = trained(bench, job, work)
            assert isinstance(model, UnMixNet)
            return {
                "seed": job.seed,
                "states R²": [asdict(score) for score in state_scores(bench, model)],
                "coefficients": [asdict(error) for error in coefficient_errors(bench, model)],
                "coefficients that nothing tells": list(UNIDENTIFIABLE),
            }

        rows.append(
            work.remembered(
                f"learned {job.study.name} {job.seed}", [str(job.place), job.code, work.digest(job)], measured
            )
        )
    return rows

"""Does a model notice an unknown substance? One is left out of training, with every mixture that it is in.

Whole sessions are held out too: *known* are their recordings without the substance, *unknown* those with it, so that
they differ in nothing but the substance. The score of a bundle stands beside its parts, each with a limit of its own
that validation recordings set in the same way. The distance of signal statistics needs no network at all: it is the
null that the others have to beat.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from studies.harness import work as code
from studies.harness.benches import NetworkBench
from studies.harness.definitions import StudyFold, study_folds
from studies.harness.jobs import QUICK, QUICK_STEPS
from studies.harness.variants import changed
from studies.harness.work import Work, code_version, fingerprint
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.novelty import Novelty, fit_novelty
from unmixnet.inference.evidence import Evidence, gather_evidence
from unmixnet.inference.scores import RESAMPLES
from unmixnet.metrics import auroc, bootstrap_interval
from unmixnet.recordings.pieces import Recall
from unmixnet.recordings.protocols import Piece, hold_out
from unmixnet.recordings.trace import trace_of
from unmixnet.training.calibrate_bundle import evidence_in
from unmixnet.training.config import TrainConfig
from unmixnet.training.recipes import recipe

__all__ = ["DATASETS", "Novel", "NoveltyRow", "leave_out", "novelty_config", "novelty_fold", "novelty_rows"]

DATASETS = {"simulated": "simulated:seen", "smellnet-mixture": "smellnet-mixture:clean:seen"}
"""Data sets by name, each with the protocol whose recordings are used."""
SHORT = {"epochs": 100, "patience": 40, "calibration": 400, "schooling": 1000, "bank": 2048}
"""Limits of a short training: enough to recognise the substances it was trained on."""
HELD = 0.3
"""Share of the recordings in the sessions that are held out."""
Progress = Callable[[str, int], Callable[[], None]]
_CODE = (*code.UNMIXNET, "inference/bundle/novelty.py", "inference/evidence.py")


@dataclass(frozen=True)
class NoveltyRow:
    """How well one score finds the recordings of one substance.

    Arguments:
        data, substance: what was left out, of which data set.
        score: `novelty` as bundles have it, or one part of it alone.
        known, unknown: how many recordings.
        auroc, lo, hi: area under the ROC curve with a 95 % interval, resampling recordings.
        auroc_half: the same for unknown recordings in which the substance has half or more; None if there is none.
        false_alarms, found: shares of known and of unknown recordings beyond the limit.
    """

    data: str
    substance: str
    score: str
    known: int
    unknown: int
    auroc: float
    lo: float
    hi: float
    auroc_half: float | None
    false_alarms: float
    found: float


@dataclass(frozen=True, eq=False)
class Novel:
    """A fold without a substance, and its test recordings.

    Arguments:
        fold: whose training and whose components lack the substance; it tests the known recordings.
        share: of the substance in each recording of `unknown`.
    """

    fold: StudyFold
    substance: str
    unknown: tuple[Piece, ...]
    share: np.ndarray


def novelty_fold(dataset: str, root: str | Path | None) -> StudyFold:
    """All measured recordings of a data set, whole sessions of them held out as known."""
    if dataset not in DATASETS:
        raise ConfigError(f"no data set {dataset!r} for this study", remedy=f"Choose among {', '.join(DATASETS)}")
    name = DATASETS[dataset]
    (fold,) = study_folds([name], root)
    # the simulated test is another session of the same recipes; SmellNet's was recorded minutes from training
    pool = (*fold.train, *fold.tests[name]) if dataset == "simulated" else fold.train
    split = hold_out([piece for piece in pool if piece.session is not None], share=HELD, seed=1)
    return replace(fold, name=dataset, train=split.train, tests={name: split.test}, splits={name: "held-out sessions"})


def leave_out(fold: StudyFold, substance: str) -> Novel:
    """The fold without a substance."""
    if substance not in fold.data.components:
        raise ConfigError(
            f"{fold.data.name} has no {substance!r}", remedy=f"Choose among {', '.join(fold.data.components)}"
        )

    def without(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
        return tuple(piece for piece in pieces if piece.label and substance not in piece.label.support)

    tests = {name: without(pieces) for name, pieces in fold.tests.items()}
    unknown = [p for pieces in fold.tests.values() for p in pieces if p.label and substance in p.label.support]
    if not unknown or not any(tests.values()):
        raise ConfigError(
            f"the held-out sessions of {fold.data.name} have no recordings with and without {substance}",
            remedy="Choose another substance",
        )
    components = tuple(name for name in fold.data.components if name != substance)
    shares = [dict(zip(p.label.names, p.label.ratios, strict=True))[substance] for p in unknown if p.label]
    data = replace(fold.data, components=components)
    return Novel(
        replace(fold, data=data, train=without(fold.train), tests=tests), substance, tuple(unknown), np.array(shares)
    )


def novelty_config(dataset: str, *, quick: bool) -> TrainConfig:
    """The recipe of the data set, for a short training."""
    base = recipe(dataset)
    first_look = {**QUICK_STEPS, "epochs": QUICK["training.epochs"], "patience": QUICK["training.patience"]}
    most = first_look if quick else SHORT
    return changed(base, {f"training.{key}": min(getattr(base.training, key), value) for key, value in most.items()})


def novelty_rows(
    config: TrainConfig,
    novel: Novel,
    recall: Recall,
    work: Work | None = None,
    *,
    progress: Progress = lambda name, steps: lambda: None,
) -> list[NoveltyRow]:
    """Train without the substance, and score; with a work folder, what was finished before is not done again."""

    def made() -> list[dict[str, Any]]:
        tick = progress(f"{novel.fold.data.name} without {novel.substance}", config.training.epochs)
        rows = _scored(config, novel, recall, lambda entry: tick() if "epoch" in entry else None)
        jax.clear_caches()
        return [asdict(row) for row in rows]

    if work is None:
        return [NoveltyRow(**row) for row in made()]
    name = f"novelty {novel.fold.data.name} {novel.substance}"
    key = fingerprint(novel.fold, [piece.path for piece in novel.unknown], config.model_dump_json())
    return [NoveltyRow(**row) for row in work.remembered(name, [key, code_version(_CODE)], made)]


def _scored(
    config: TrainConfig, novel: Novel, recall: Recall, tick: Callable[[dict[str, Any]], None]
) -> list[NoveltyRow]:
    bench = NetworkBench(config, novel.fold, recall)
    model, prepared = bench.fit(config.training.seed, tick).model, bench.prepared
    held = evidence_in(prepared, model, prepared.validation)
    novelty = fit_novelty(evidence_in(prepared, model, prepared.train), held)
    known = [piece for pieces in novel.fold.tests.values() for piece in pieces]

    def evidence(pieces: Sequence[Piece]) -> list[Evidence]:
        spec, data = prepared.spec, novel.fold.data
        traces = [
            trace_of(recall(data, piece), prepared.preprocessing, rate_Hz=spec.rate_Hz, window=spec.window).signal
            for piece in pieces
        ]
        return gather_evidence(model, traces, spec)

    old, new = evidence(known), evidence(novel.unknown)
    groups = [piece.path for piece in (*known, *novel.unknown)]
    rows = []
    for name, (score, limit) in scores_of(novelty, held).items():
        known_scores, unknown_scores = (np.array([score(item) for item in side]) for side in (old, new))
        rows.append(_row(novel, name, limit, known_scores, unknown_scores, groups))
    return rows


def scores_of(novelty: Novelty, held: Sequence[Evidence]) -> dict[str, tuple[Callable[[Evidence], float], float]]:
    """The score of a bundle and each of its parts alone, with the limit that validation recordings give it."""
    scoring: dict[str, tuple[Callable[[Evidence], float], float]] = {"novelty": (novelty.score, novelty.limit)}
    parts = ("embedding", "signal statistics", "reconstruction residual")[: len(novelty.centre)]
    for k, part in enumerate(parts):

        def alone(evidence: Evidence, k: int = k) -> float:
            return float(novelty.parts(evidence)[k])

        scores = tuple(sorted(alone(item) for item in held))
        scoring[f"{part} alone"] = (alone, replace(novelty, scores=scores).limit)
    return scoring


def _row(novel: Novel, score: str, limit: float, old: np.ndarray, new: np.ndarray, groups: Sequence[str]) -> NoveltyRow:
    both, unknown = np.concatenate([old, new]), np.repeat([False, True], [len(old), len(new)])
    interval = bootstrap_interval(auroc, both, unknown, groups, resamples=RESAMPLES)
    mostly = np.concatenate([np.ones(len(old), bool), novel.share >= 0.5 - 1e-6])
    half = auroc(both[mostly], unknown[mostly])
    return NoveltyRow(
        novel.fold.data.name,
        novel.substance,
        score,
        len(old),
        len(new),
        auroc(both, unknown),
        interval.lo,
        interval.hi,
        None if np.isnan(half) else half,
        float(np.mean(old > limit)),
        float(np.mean(new > limit)),
    )

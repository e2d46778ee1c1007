"""A bundle on recordings with known labels: scores beside the training mean, coverage, verdicts."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.inference.answer import Verdict
from unmixnet.inference.bundle.bundle import Bundle, overlap
from unmixnet.inference.evidence import Evidence, gather_evidence
from unmixnet.inference.scores import Row, score
from unmixnet.inference.unmix import verdict_of
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.pieces import read_pieces
from unmixnet.recordings.protocols import Piece, SplitError, protocol
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.samples import Samples, Task

__all__ = ["Evaluation", "ScoringSet", "evaluate", "scoring_set"]


@dataclass(frozen=True, eq=False)
class ScoringSet:
    """Recordings to score on: what the score measures, and the unit of resampling."""

    name: str
    measures: str
    resample: str
    recordings: tuple[Recording, ...]


@dataclass(frozen=True)
class Evaluation:
    """Scores of a bundle on a test.

    Arguments:
        rows: of the model and of the mean of its training, per window and per recording.
        coverage: share of the true shares that lie in their 90 % intervals; `width`: mean length of an interval.
        covered_present: the same of components that are truly there.
        nothing, unlike: share of recordings with these verdicts.
        seen: places of test recordings that the model was trained or chosen on.
    """

    split: str
    measures: str
    recordings: int
    rows: tuple[Row, ...]
    coverage: float
    covered_present: float
    width: float
    nothing: float
    unlike: float
    seen: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


def scoring_set(
    bundle: Bundle,
    split: str,
    root: str | Path | None = None,
    *,
    fold: int | None = None,
    progress: Callable[[str, int], Callable[[], None]] = lambda name, steps: lambda: None,
) -> ScoringSet:
    """Test recordings of a protocol, or of a folder: those that its manifest calls test, all if it calls none so.

    Arguments:
        fold: which, where there are several; the bundle's own if it was trained on this protocol.
    """
    if Path(split).is_dir():
        data = load_dataset("folder", split)
        labelled = [entry for entry in data.entries if entry.label is not None]
        chosen = [entry for entry in labelled if "test" in entry.split.lower()] or labelled
        pieces = tuple(Piece(entry.path, entry.label, entry.session) for entry in chosen)
        name, measures, resample = Path(split).name, "recordings of this folder", "recording"
    else:
        made = protocol(split, root)
        own = bundle.training.get("data", {})
        number = fold if fold is not None else own["fold"] if own.get("protocol") == split else 0
        if number >= len(made.folds):
            raise SplitError(f"fold {number} of {split}, which has {len(made.folds)}", remedy="Choose a smaller --fold")
        data, pieces = made.data, made.folds[number].test
        name, measures, resample = made.name, made.measures, made.resample
    if not pieces:
        raise SplitError(
            "there is no labelled recording to score on", where=split, remedy="List labels in manifest.csv"
        )
    return ScoringSet(name, measures, resample, read_pieces(data, pieces, progress("Reading recordings", len(pieces))))


def evaluate(bundle: Bundle, test: ScoringSet, *, allow_seen: bool = False) -> Evaluation:
    """Score a bundle; recordings that it has seen are refused, or with `allow_seen` reported."""
    known = tuple(overlap(test.recordings, bundle.recordings))
    if known and not allow_seen:
        raise SplitError(
            f"{len(known)} of {len(test.recordings)} test recordings were used to train or to choose this model, "
            f"e.g. {known[0]}: the score would measure memory",
            where=test.name,
            remedy="Choose a split that it was not trained on, or add --seen to score it all the same",
        )
    evidence = _evidence(bundle, test.recordings)
    truth = np.stack([_target(bundle, recording) for recording in test.recordings])
    shares = np.stack([bundle.calibration.shares(each.ratios) for each in evidence])
    low, high = bundle.calibration.intervals.of(shares)
    inside, there = (low <= truth + 1e-9) & (truth - 1e-9 <= high), truth > 0
    verdicts = [verdict_of(bundle, each) for each in evidence]
    return Evaluation(
        test.name,
        test.measures,
        len(test.recordings),
        tuple(_rows(bundle, test, evidence, shares, truth)),
        float(inside.mean()),
        float(inside[there].mean()),
        float(np.mean(high - low)),
        verdicts.count(Verdict.NOTHING) / len(verdicts),
        verdicts.count(Verdict.UNLIKE) / len(verdicts),
        known,
    )


def _rows(
    bundle: Bundle, test: ScoringSet, evidence: Sequence[Evidence], shares: np.ndarray, truth: np.ndarray
) -> list[Row]:
    """Scores per window and per recording, of the model and of the mean of its training."""
    task = Task(bundle.spec.task)
    counts = [len(each.ratios) for each in evidence]
    names = [recording.path for recording in test.recordings]
    supports = ["+".join(sorted(recording.label.support)) for recording in test.recordings if recording.label]
    ends = {
        "window": (np.concatenate([bundle.calibration.to_shares(each.ratios) for each in evidence]), counts),
        "recording": (shares, [1] * len(evidence)),
    }
    rows: list[Row] = []
    for level, (guess, many) in ends.items():
        samples = Samples(
            np.zeros((len(guess), 0, 0)),
            np.repeat(truth, many, axis=0),
            tuple(np.repeat(names, many).tolist()),
            tuple(np.repeat(supports, many).tolist()),
        )
        flat = np.tile(np.array(bundle.calibration.prior), (len(guess), 1))
        for model, values in ((bundle.name, guess), ("mean of training", flat)):
            about = (test.name, "test", model)
            rows += score(task, [values], samples, names=about, resample=test.resample, level=level)
    return rows


def _evidence(bundle: Bundle, recordings: Sequence[Recording]) -> list[Evidence]:
    return gather_evidence(bundle.model, [bundle.trace(recording).signal for recording in recordings], bundle.spec)


def _target(bundle: Bundle, recording: Recording) -> np.ndarray:
    if recording.label is None:
        raise ConfigError("a recording without a label cannot be scored", where=recording.path, remedy="Leave it out")
    if unknown := recording.label.support - set(bundle.components):
        raise ConfigError(
            f"the label holds {', '.join(sorted(unknown))}, which the bundle {bundle.name} does not have",
            where=recording.path,
            remedy=f"Leave it out, or use a model trained on it; this one has {', '.join(bundle.components)}",
        )
    return recording.label.vector(bundle.components)

"""From a trained model to a bundle: calibrate, score beside the nulls, write the card."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.inference.bundle.bundle import Bundle, seen_recording
from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.inference.bundle.storage import save_bundle
from unmixnet.inference.evidence import Evidence
from unmixnet.model.predict import single_precision
from unmixnet.recordings.recording import Recording
from unmixnet.training.calibrate_bundle import calibration_of, evidence_in
from unmixnet.training.config import TrainConfig
from unmixnet.training.examples import Examples, TrainingRecordings
from unmixnet.training.run import Prepared, prepare, train
from unmixnet.training.trainer import Fit

__all__ = [
    "TrainedBundle",
    "ValidationScores",
    "few_shot_card",
    "make_bundle",
    "train_bundle",
    "validation_scores",
    "write_card",
]


@dataclass(frozen=True)
class ValidationScores:
    """Error of recordings: MAE of the shares, or for classes the share that is named wrongly.

    Arguments:
        metric: which of the two.
        model, mean, nearest: of the model, of the training mean, of the nearest training recording by mean level.
        recordings: on how many.
    """

    metric: str
    model: float
    mean: float
    nearest: float
    recordings: int


def validation_scores(
    prepared: Prepared, evidence: Sequence[Evidence], calibration: Calibration
) -> ValidationScores | None:
    """Scores on the validation recordings, on which the model was chosen; None if there are none.

    Arguments:
        evidence: the model's, in their order.
    """
    held = prepared.validation
    if held is None:
        return None
    guess = np.stack([calibration.shares(answer.ratios) for answer in evidence])
    near = _levels(held)[:, None] - _levels(prepared.train)[None]
    nearest = prepared.train.targets[np.argmin(np.sum(near**2, axis=2), axis=1)]
    mean = np.tile(np.array(calibration.prior), (len(held), 1))
    classes = prepared.config.data.task == "classes"
    ours, flat, near_by = (_error(answer, held.targets, classes) for answer in (guess, mean, nearest))
    return ValidationScores("error rate" if classes else "MAE", ours, flat, near_by, len(held))


def _levels(examples: Examples) -> np.ndarray:
    pairs = zip(examples.traces, examples.lengths, strict=True)
    return np.stack([trace[:length].mean(axis=0) for trace, length in pairs])


def _error(guess: np.ndarray, truth: np.ndarray, classes: bool) -> float:
    if classes:
        return float(np.mean(guess.argmax(axis=1) != truth.argmax(axis=1)))
    return float(np.mean(np.abs(guess - truth)))


def write_card(name: str, prepared: Prepared, calibration: Calibration, scores: ValidationScores | None) -> str:
    """The card as Markdown."""
    config = prepared.config
    held = 0 if prepared.validation is None else len(prepared.validation)
    again = held > 0 and config.training.refit
    parts = (
        f"# {name}",
        _purpose(config, prepared),
        f"Trained on {len(prepared.train)} recordings of `{config.data.protocol}` (fold {config.data.fold}, seed "
        f"{config.training.seed}); everything else was chosen on {held} further recordings"
        + (", in whole sessions where they are known." if held else ": none, so its intervals carry no information.")
        + (" Then it was trained again on all of them; scores and intervals are from before." if again else ""),
        _scores(scores),
        _use(calibration, config),
        _limits(config),
    )
    return "\n\n".join(parts) + "\n"


def _purpose(config: TrainConfig, prepared: Prepared) -> str:
    what = "which of" if config.data.task == "classes" else "the shares of"
    return (
        f"{config.model.name} ({config.model.size}). From {config.data.window_s:g} s of the channels "
        f"{', '.join(prepared.preprocessing.channels)} it estimates {what} {len(prepared.components)} substances: "
        f"{', '.join(prepared.components)}."
    )


def _scores(scores: ValidationScores | None) -> str:
    if scores is None:
        return "There were no validation recordings, so there is no score."
    return (
        f"| {scores.metric} on {scores.recordings} validation recordings | |\n|---|---|\n"
        f"| this model | {scores.model:.3f} |\n| mean of training | {scores.mean:.3f} |\n"
        f"| nearest training recording by mean level | {scores.nearest:.3f} |\n\n"
        "The model was chosen on these recordings: expect worse on new ones. `unmixnet evaluate` scores it on a test."
    )


def _use(calibration: Calibration, config: TrainConfig) -> str:
    table = calibration.intervals
    return (
        f"Windows of {config.data.window_s:g} s every {config.data.stride_s:g} s, mean over windows, temperature "
        f"{calibration.temperature:g}, shares under {calibration.support:g} set to zero. Intervals: {table.level:.0%} "
        f"by split conformal prediction on {table.recordings} recordings; they hold for recordings like those."
    )


def _limits(config: TrainConfig) -> str:
    clean = {
        "recording": "A recording must start in clean air: its first row is the baseline.",
        "reference": "The clean-air level of the device must be known.",
        "none": "It reads absolute levels, which drift from week to week and differ between boards.",
    }[config.data.baseline]
    return (
        f"Limits. {clean} Substances that it does not know are shared out among those it knows; it says so when a "
        "recording looks unlike its training, which is a statistical test and can fail. Concentrations and fluxes "
        "inside the chamber are implied by the model and were never measured."
    )


def few_shot_card(name: str, prepared: Prepared, scores: tuple[float, float, float], groups: int) -> str:
    """The card of a few-shot model: purpose, training data, scores and limits; Markdown.

    Arguments:
        scores: MAE of the model, of the nearest recording, of the mean.
        groups: how many groups of recordings were left out in turn.
    """
    n, config = len(prepared.train), prepared.config
    how = "each left out once" if groups == n else f"left out in {groups} groups"
    ours, nearest, mean = scores
    return (
        f"# {name}\n\n"
        f"{config.model.name} ({config.model.size}), trained on {n} recordings. From {config.data.window_s:.3g} s of "
        f"{', '.join(prepared.preprocessing.channels)} it estimates the shares of {', '.join(prepared.components)}.\n\n"
        f"| MAE of {n} recordings, {how} | |\n|---|---|\n"
        f"| this model | {ours:.3f} |\n| nearest other recording by mean level | {nearest:.3f} |\n"
        f"| mean of the others | {mean:.3f} |\n\n"
        "Intervals, background and novelty rest on the same left-out recordings. All of them are of the user's own "
        "sessions: on another day, or with another board, expect worse, and calibrate.\n\n"
        "Limits. Substances outside its training are attributed to those in it. Concentrations and fluxes "
        "inside the chamber are implied by the model and were never measured.\n"
    )


def make_bundle(
    name: str, prepared: Prepared, fit: Fit, recordings: Iterable[Recording]
) -> tuple[Bundle, ValidationScores | None]:
    """A bundle that is not stored yet, and its validation scores; `recordings` are all that training has read.

    A model that was retrained on all recordings keeps the calibration of the model before: errors and novelty on
    recordings outside its training. Only the reference embedding of the novelty is that of the retrained model.
    """
    known, held = (evidence_in(prepared, fit.before_refit, side) for side in (prepared.train, prepared.validation))
    calibration = calibration_of(prepared, known, held)
    scores = validation_scores(prepared, held, calibration)
    if fit.before_refit is not fit.model and calibration.novelty is not None:
        known = evidence_in(prepared, fit.model, prepared.whole().train)
        calibration = replace(calibration, novelty=calibration.novelty.with_embedding_of(known))
    bundle = Bundle(
        name,
        prepared.spec,
        prepared.preprocessing,
        fit.model,
        calibration,
        write_card(name, prepared, calibration, scores),
        tuple(seen_recording(recording) for recording in recordings),
        prepared.config.stored(),
    )
    return bundle, scores


@dataclass(frozen=True, eq=False)
class TrainedBundle:
    """A training and the bundle that it left in its folder; an interrupted one has left none.

    Arguments:
        recordings: how many it was trained and chosen on.
        digest: of the bundle; `scores`: on the validation recordings, where there are any.
    """

    folder: Path
    fit: Fit
    recordings: tuple[int, int]
    digest: str | None = None
    scores: ValidationScores | None = None

    def to_json(self) -> dict[str, Any]:
        """What happened, as plain data."""
        fit, (trained, chosen) = self.fit, self.recordings
        happened = {
            "run": str(self.folder),
            "interrupted": fit.interrupted,
            "epochs": fit.epochs,
            "best_epoch": fit.best_epoch,
            "recordings": {"train": trained, "validation": chosen},
        }
        if self.digest is None:
            return happened
        validation = None if self.scores is None else asdict(self.scores)
        return {**happened, "bundle": str(self.folder / "bundle"), "digest": self.digest, "validation": validation}


def train_bundle(
    config: TrainConfig,
    sources: TrainingRecordings,
    name: str,
    folder: Path,
    *,
    resume: bool = False,
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
    calibrating: Callable[[], None] = lambda: None,
) -> TrainedBundle:
    """Train a model, calibrate it on the validation recordings, and write it as `folder`/bundle.

    Arguments:
        resume: continue from the checkpoint in the folder.
        watch: called after every epoch; `calibrating`: called when the epochs are over.
    """
    counts = len(sources.train), len(sources.validation)
    with single_precision():
        prepared = prepare(config, sources.train, sources.validation, sources.components, sources.sessions)
        fit = train(prepared, folder=folder, resume=resume, watch=watch)
        if fit.interrupted:
            return TrainedBundle(folder, fit, counts)
        calibrating()
        bundle, scores = make_bundle(name, prepared, fit, (*sources.train, *sources.validation))
        return TrainedBundle(folder, fit, counts, save_bundle(folder / "bundle", bundle), scores)

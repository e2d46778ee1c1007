"""From a trained model to a bundle: calibrate, score beside the nulls, write the card."""

from collections.abc import Iterable
from dataclasses import replace

from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.bundle.seen import seen
from unmixnet.recordings.recording import Recording
from unmixnet.training.calibrate_bundle import calibration_of, evidence_in
from unmixnet.training.card import write_card
from unmixnet.training.nulls import Scores, validation_scores
from unmixnet.training.run import Prepared
from unmixnet.training.trainer import Fit

__all__ = ["make_bundle"]


def make_bundle(
    name: str, prepared: Prepared, fit: Fit, recordings: Iterable[Recording]
) -> tuple[Bundle, Scores | None]:
    """A bundle that is not stored yet, and its validation scores; `recordings` are all that training has read.

    A model that was trained again on all recordings is calibrated by what it was before: how wrong and how surprised
    it is by recordings that it does not know. Only where it sees the known ones is its own.
    """
    train, held = (evidence_in(prepared, fit.judge, side) for side in (prepared.train, prepared.validation))
    calibration = calibration_of(prepared, train, held)
    scores = validation_scores(prepared, held, calibration)
    if fit.judge is not fit.model and calibration.novelty is not None:
        known = evidence_in(prepared, fit.model, prepared.whole().train)
        calibration = replace(calibration, novelty=calibration.novelty.seen_by(known))
    bundle = Bundle(
        name,
        prepared.config,
        prepared.components,
        prepared.ready,
        prepared.air,
        prepared.sign,
        fit.model,
        calibration,
        write_card(name, prepared, calibration, scores),
        tuple(seen(recording) for recording in recordings),
    )
    return bundle, scores

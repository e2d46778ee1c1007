"""From a trained model to a bundle: calibrate, score beside the nulls, write the card."""

from collections.abc import Iterable

from unmixnet.bundle.bundle import Bundle
from unmixnet.bundle.calibrate import calibration_of, evidence_in
from unmixnet.bundle.card import write_card
from unmixnet.bundle.nulls import Scores, validation_scores
from unmixnet.bundle.seen import seen
from unmixnet.data.recording import Recording
from unmixnet.training.run import Prepared
from unmixnet.training.trainer import Fit

__all__ = ["make_bundle"]


def make_bundle(
    name: str, prepared: Prepared, fit: Fit, recordings: Iterable[Recording]
) -> tuple[Bundle, Scores | None]:
    """A bundle that is not stored yet, and its validation scores; `recordings` are all that training has read."""
    train, held = (evidence_in(prepared, fit.model, side) for side in (prepared.train, prepared.validation))
    calibration = calibration_of(prepared, train, held)
    scores = validation_scores(prepared, held, calibration)
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

"""What a model has to beat on its validation recordings: the mean of training, and the nearest training recording."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.inference.bundle.calibration import Calibration
from unmixnet.inference.evidence import Evidence
from unmixnet.training.examples import Examples
from unmixnet.training.run import Prepared

__all__ = ["Scores", "validation_scores"]


@dataclass(frozen=True)
class Scores:
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


def validation_scores(prepared: Prepared, found: Sequence[Evidence], calibration: Calibration) -> Scores | None:
    """Scores on the validation recordings, on which the model was chosen; None if there are none.

    Arguments:
        found: what the model reads in them, in their order.
    """
    held = prepared.validation
    if held is None:
        return None
    guess = np.stack([calibration.shares(one.ratios) for one in found])
    near = _levels(held)[:, None] - _levels(prepared.train)[None]
    nearest = prepared.train.targets[np.argmin(np.sum(near**2, axis=2), axis=1)]
    mean = np.tile(np.array(calibration.prior), (len(held), 1))
    classes = prepared.config.data.task == "classes"
    ours, flat, near_by = (_error(one, held.targets, classes) for one in (guess, mean, nearest))
    return Scores("error rate" if classes else "MAE", ours, flat, near_by, len(held))


def _levels(examples: Examples) -> np.ndarray:
    pairs = zip(examples.traces, examples.lengths, strict=True)
    return np.stack([trace[:length].mean(axis=0) for trace, length in pairs])


def _error(guess: np.ndarray, truth: np.ndarray, classes: bool) -> float:
    if classes:
        return float(np.mean(guess.argmax(axis=1) != truth.argmax(axis=1)))
    return float(np.mean(np.abs(guess - truth)))

"""Calibration of a trained model: temperature, support, intervals, background, novelty; never on the test set."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxtyping import PyTree

from unmixnet.inference.bundle.calibration import (
    Calibration,
    Intervals,
    fit_background,
    fit_intervals,
    projected,
    sharpened,
)
from unmixnet.inference.bundle.novelty import fit_novelty
from unmixnet.inference.evidence import Evidence, gather_evidence
from unmixnet.recordings.preprocessing import BaselineMethod
from unmixnet.training.examples import Examples
from unmixnet.training.run import Prepared

__all__ = ["calibration_of", "choose_sharpening", "evidence_in"]

_TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
_SUPPORTS = (0.0, 0.02, 0.05, 0.1, 0.15)
_WORTH = 0.01
"""Relative gain that a departure from the identity must bring."""


def calibration_of(prepared: Prepared, train: Sequence[Evidence], held: Sequence[Evidence]) -> Calibration:
    """The calibration from the model's evidence in training and validation recordings.

    Without validation recordings the ratios stay as they are, the intervals are [0, 1] and nothing is called unlike.
    """
    temperature, support, intervals = 1.0, 0.0, Intervals()
    if prepared.validation is not None:
        means = np.stack([evidence.ratios.mean(axis=0) for evidence in held])
        truth = prepared.validation.targets.astype(float)
        temperature, support = choose_sharpening(means, truth, classes=prepared.config.data.task == "classes")
        intervals = fit_intervals(projected(sharpened(means, temperature), support), truth)
    left = [evidence.residual for evidence in held or train if evidence.residual is not None]
    own = prepared.preprocessing.baseline is BaselineMethod.RECORDING
    return Calibration(
        tuple(prepared.train.targets.mean(axis=0).astype(float).tolist()),
        temperature,
        support,
        noise=tuple(np.maximum(np.median(left, axis=0), sensor_noise(prepared.train)).tolist()) if left else (),
        intervals=intervals,
        background=fit_background(
            train, held, noise=float(np.sqrt(np.mean(sensor_noise(prepared.train) ** 2))), own_baseline=own
        ),
        novelty=fit_novelty(train, held),
    )


def evidence_in(prepared: Prepared, model: PyTree, examples: Examples | None) -> list[Evidence]:
    """Evidence of examples, in their order; of none if there are none."""
    if examples is None:
        return []
    traces = [trace[:length] for trace, length in zip(examples.traces, examples.lengths, strict=True)]
    return gather_evidence(model, traces, prepared.spec)


def choose_sharpening(ratios: np.ndarray, truth: np.ndarray, *, classes: bool = False) -> tuple[float, float]:
    """Temperature and support threshold with the least error of recordings; the identity unless another is better.

    The error is the MAE of shares; of class probabilities it is the mean −ln p of the true class, and their support is
    left alone.
    """

    def error(temperature: float, support: float) -> float:
        guess = projected(sharpened(ratios, temperature), support)
        if classes:
            return float(-np.mean(np.log(np.maximum(np.sum(guess * truth, axis=1), 1e-12))))
        return float(np.mean(np.abs(guess - truth)))

    grid = [*product(_TEMPERATURES, (0.0,) if classes else _SUPPORTS)]
    best = min(grid, key=lambda pair: error(*pair))
    return best if error(*best) < (1 - _WORTH) * error(1.0, 0.0) else (1.0, 0.0)


def sensor_noise(examples: Examples) -> np.ndarray:
    """sd of each channel's white noise, from first differences: median over recordings [sd of the training signal]."""
    pairs = zip(examples.traces, examples.lengths, strict=True)
    steps = [np.std(np.diff(trace[:length], axis=0), axis=0) / np.sqrt(2) for trace, length in pairs]
    return np.maximum(np.median(steps, axis=0), 1e-6)

"""Sentences about an estimate: the headline, how far to trust it, and what to wait for."""

import math

import numpy as np

from unmixnet.files.printable import printable
from unmixnet.inference.report import Answer, Verdict
from unmixnet.inference.report.formatting import clipped, factor
from unmixnet.inference.report.words import caution, familiarity_words, fit_words, headline, strength_words

__all__ = ["answer_words", "collecting_words", "drift_words", "gap_words", "settling_words"]

_DRIFTED = 0.5
"""Departure of a clean-air level that is worth a sentence [sd of the training signal]."""


def settling_words(seconds: float) -> tuple[str, ...]:
    """While the sensors settle."""
    return ("Warming up", f"The sensors are still settling, {seconds:.0f} s so far; leave them in clean air.")


def collecting_words(received_s: float, needed_s: float, *, exposed: bool) -> tuple[str, ...]:
    """While there is too little signal for an answer."""
    first = "Something is in the air" if exposed else "Warming up"
    return (first, f"Collecting signal: {received_s:.0f} s of the {needed_s:.0f} s that a first answer needs.")


def gap_words(channel: str, lost: float) -> tuple[str, ...]:
    """While there are too few readings."""
    return ("Waiting for readings", f"{lost:.0%} of the readings of {clipped(printable(channel), 40)} are missing.")


def answer_words(answer: Answer, received_s: float, whole_s: float, *, waited_s: float) -> tuple[str, ...]:
    """The headline, and how far to trust it.

    Arguments:
        received_s, whole_s: length of the window received so far, and of a whole one.
        waited_s: time since the window was full, where the answer is held until the air is clean again.
    """
    words = [headline(answer)]
    if answer.verdict is not Verdict.NOTHING and received_s < whole_s:
        words.append(f"{received_s:.0f} of {whole_s:.0f} s received; the intervals are wider until then.")
    if waited_s > 0:
        words.append(f"Estimated from the first {whole_s:.0f} s; waiting for the air to clear.")
    if answer.verdict is Verdict.NOTHING:
        words.append(_quiet_words(answer))
    else:
        words += [caution(answer), strength_words(answer), fit_words(answer), familiarity_words(answer)]
    return tuple(text for text in words if text)


def _quiet_words(answer: Answer) -> str:
    """Why nothing is claimed; far below the background the digits of a strength mean nothing."""
    times = "less than 0.01" if answer.strength < 0.01 else factor(answer.strength)
    return f"The signal is {times} times a typical one; under {factor(answer.background)} the model claims nothing."


def drift_words(channels: tuple[str, ...], drift: tuple[float, ...], against: str) -> tuple[str, ...]:
    """One sentence if a clean-air level has moved."""
    sizes = [abs(value) if math.isfinite(value) else 0.0 for value in drift]
    if not sizes or max(sizes) < _DRIFTED:
        return ()
    worst = int(np.argmax(sizes))
    name = clipped(printable(channels[worst]), 40)
    return (
        f"The clean-air level of {name} is {drift[worst]:+.1f} standard deviations away from {against}: "
        "calibrate, or let it warm up longer.",
    )

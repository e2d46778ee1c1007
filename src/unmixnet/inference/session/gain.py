r"""Shrunken gain: each sensor by itself, x̂ = a x + b.

    a = (Σ x̃_session x̃_master + λ) / (Σ x̃_session² + λ),    b = mean x_master − a mean x_session

Univariate standardisation: x̃ are departures from the means; λ pulls the gain to one [sd² of the training signal].
With a single pair a = 1.
"""

import numpy as np

from unmixnet.inference.session.calibration import Map

__all__ = ["fit_gain"]


def fit_gain(session: np.ndarray, master: np.ndarray, *, shrink: float = 0.3) -> Map:
    """From levels of k references (and of clean air), (k, M) each; `shrink` is λ."""
    from_, to = session.mean(axis=0), master.mean(axis=0)
    x, y = session - from_, master - to
    floor = 1e-12
    gain = (np.sum(x * y, axis=0) + shrink + floor) / (np.sum(x**2, axis=0) + shrink + floor)
    return Map(tuple(gain.tolist()), tuple((to - gain * from_).tolist()))

r"""Clean air: every sensor is shifted so that clean air reads as it did in training.

    x̂ = x + air − mean x_clean

It takes the offset out and leaves the gain. A bundle whose recordings bring their own clean air needs none of it.
"""

from collections.abc import Sequence

import numpy as np

from unmixnet.inference.session.calibration import Map

__all__ = ["fit_clean_air"]


def fit_clean_air(clean: np.ndarray, air: Sequence[float]) -> Map:
    """From levels of k recordings of clean air, (k, M), and the bundle's clean-air signal, (M,)."""
    return Map((1.0,) * clean.shape[1], tuple((np.array(air) - clean.mean(axis=0)).tolist()))

r"""Prototype shift: the session's prototypes are moved by the mean residual of the references, only part of the way.

    x̂ = x + k/(k + κ) · mean_k (x_master − x_session)

To move all prototypes of a session towards its references is to move its recordings the other way. With few
references the shift is mostly the strength of those references; κ = 1 believes one of them by half.
"""

import numpy as np

from unmixnet.inference.session.calibration import Map

__all__ = ["fit_prototype"]


def fit_prototype(session: np.ndarray, master: np.ndarray, *, kappa: float = 1.0) -> Map:
    """From levels of k references, (k, M) each."""
    k, M = session.shape
    return Map((1.0,) * M, tuple((k / (k + kappa) * np.mean(master - session, axis=0)).tolist()))

r"""Offset: every sensor is shifted by the mean of what the references lack.

    x̂ = x + mean_k (x_master − x_session)

Exact where a session only shifts the sensors; one reference is enough.
"""

import numpy as np

from unmixnet.inference.session.calibration import Map

__all__ = ["fit_offset"]


def fit_offset(session: np.ndarray, master: np.ndarray) -> Map:
    """From levels of k references, (k, M) each."""
    return Map((1.0,) * session.shape[1], tuple(np.mean(master - session, axis=0).tolist()))

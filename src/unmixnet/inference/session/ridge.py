r"""Ridge towards identity: direct standardisation with a prior, x̂ = F x + b.

    F = (X̃_sᵀ X̃_s + λI)⁻¹ (X̃_sᵀ X̃_m + λI)   (rows are references),    b = mean x_master − F mean x_session

It can undo sensors that leak into each other, and needs references that differ; λ is chosen by leaving references out.
"""

import numpy as np

from unmixnet.inference.session.calibration import Map

__all__ = ["fit_ridge"]

_LAMBDAS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


def fit_ridge(session: np.ndarray, master: np.ndarray, *, shrink: float | None = None) -> Map:
    """From levels of k references (and of clean air), (k, M) each; `shrink` is λ, chosen if not given."""
    if shrink is None:
        shrink = min(_LAMBDAS[::-1], key=lambda value: _left_out(session, master, value)) if len(session) > 2 else 1.0
    F, b = _solve(session, master, shrink)
    cross = F - np.diag(np.diag(F))
    return Map(tuple(np.diag(F).tolist()), tuple(b.tolist()), tuple(map(tuple, cross.tolist())))


def _solve(session: np.ndarray, master: np.ndarray, shrink: float) -> tuple[np.ndarray, np.ndarray]:
    from_, to = session.mean(axis=0), master.mean(axis=0)
    x, y, one = session - from_, master - to, np.eye(session.shape[1])
    F = np.linalg.solve(x.T @ x + (shrink + 1e-12) * one, x.T @ y + (shrink + 1e-12) * one).T
    return F, to - F @ from_


def _left_out(session: np.ndarray, master: np.ndarray, shrink: float) -> float:
    """Mean square error of references that were not asked."""
    missed = 0.0
    for i in range(len(session)):
        keep = np.arange(len(session)) != i
        F, b = _solve(session[keep], master[keep], shrink)
        missed += float(np.sum((F @ session[i] + b - master[i]) ** 2))
    return missed

"""Maps of the signal that undo a session: clean air, offset, gain, prototype shift, ridge towards identity."""

from collections.abc import Sequence

import numpy as np

from unmixnet.inference.session.calibration import AffineMap

__all__ = ["fit_clean_air", "fit_gain", "fit_offset", "fit_prototype", "fit_ridge"]


def fit_clean_air(clean: np.ndarray, air: Sequence[float]) -> AffineMap:
    """From levels of k recordings of clean air, (k, M), and the bundle's clean-air signal, (M,)."""
    return AffineMap((1.0,) * clean.shape[1], tuple((np.array(air) - clean.mean(axis=0)).tolist()))


def fit_offset(session: np.ndarray, master: np.ndarray) -> AffineMap:
    """From levels of k references, (k, M) each."""
    return AffineMap((1.0,) * session.shape[1], tuple(np.mean(master - session, axis=0).tolist()))


def fit_gain(session: np.ndarray, master: np.ndarray, *, shrink: float = 0.3) -> AffineMap:
    """From levels of k references (and of clean air), (k, M) each; `shrink` is λ."""
    from_, to = session.mean(axis=0), master.mean(axis=0)
    x, y = session - from_, master - to
    floor = 1e-12
    gain = (np.sum(x * y, axis=0) + shrink + floor) / (np.sum(x**2, axis=0) + shrink + floor)
    return AffineMap(tuple(gain.tolist()), tuple((to - gain * from_).tolist()))


def fit_prototype(session: np.ndarray, master: np.ndarray, *, kappa: float = 1.0) -> AffineMap:
    """From levels of k references, (k, M) each."""
    k, M = session.shape
    return AffineMap((1.0,) * M, tuple((k / (k + kappa) * np.mean(master - session, axis=0)).tolist()))


_LAMBDAS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


def fit_ridge(session: np.ndarray, master: np.ndarray, *, shrink: float | None = None) -> AffineMap:
    """From levels of k references (and of clean air), (k, M) each; `shrink` is λ, chosen if not given."""
    if shrink is None:
        shrink = min(_LAMBDAS[::-1], key=lambda value: _left_out(session, master, value)) if len(session) > 2 else 1.0
    F, b = _solve(session, master, shrink)
    cross = F - np.diag(np.diag(F))
    return AffineMap(tuple(np.diag(F).tolist()), tuple(b.tolist()), tuple(map(tuple, cross.tolist())))


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

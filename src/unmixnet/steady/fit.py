r"""Coefficients of the steady law from labelled recordings, with the level of every session as a nuisance.

    min  Σ ρ((y − ŷ)/σ) + w [Σ (ln A/τ_A)² + Σ (ln n/τ_n)² + Σ ((o − ō)/τ_o)²],     ρ(r) = 2(√(1 + r²) − 1)

ρ grows like |r|, since some recordings are far off. Without a prior the level of a session and the substances that were
only recorded in it could not be told apart; with it, what sessions have in common stays in the coefficients.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import least_squares

from unmixnet.errors import ConfigError
from unmixnet.steady.law import Steady

__all__ = ["fit_steady"]

_SIGMA = 0.05
"""Where ρ turns from squares to absolute values, in units of the signal (ln G)."""
_SPREAD_A, _SPREAD_N, _SPREAD_LEVEL = 1.0, 1.0, 0.4
"""τ: substances differ by factors of e, sessions by half the spread of all signals."""
_WEIGHT = 4.0
"""Of the priors: recordings of one recipe in one session repeat each other, and count for less than their number."""


def fit_steady(y: np.ndarray, a: np.ndarray, sessions: Sequence[int]) -> Steady:
    """The law that explains signals y (n, M) of mixtures a (n, K) in numbered sessions."""
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(a))):
        raise ConfigError("signals or shares that are not numbers", remedy="Leave such recordings out")
    session = np.asarray(sessions)
    (n, M), K, S = y.shape, a.shape[1], int(session.max()) + 1
    centre = y.mean(axis=0) - 1
    weight = np.sqrt(_WEIGHT)
    own = np.eye(S)[session]

    def unpacked(row: np.ndarray) -> Steady:
        A, log_n, levels = np.split(row, (M * K, M * K + M))
        return Steady(A.reshape(M, K), log_n, levels.reshape(S, M))

    def residuals(row: np.ndarray) -> np.ndarray:
        law = unpacked(row)
        left = (y - law.response(a) - law.levels[session]) / _SIGMA
        between = law.levels - law.levels.mean(axis=0)
        prior = (law.log_A / _SPREAD_A, law.log_n / _SPREAD_N, between / _SPREAD_LEVEL)
        return np.concatenate([_robust(left).ravel(), *(weight * part.ravel() for part in prior)])

    def jacobian(row: np.ndarray) -> np.ndarray:
        law = unpacked(row)
        left = (y - law.response(a) - law.levels[session]) / _SIGMA
        by_A, by_n = law.slopes(a)
        steep = -_robust_slope(left)[..., None] / _SIGMA
        each = np.eye(M)
        top = np.concatenate(
            [
                (steep[..., None] * by_A[:, :, None, :] * each[None, :, :, None]).reshape(n * M, M * K),
                (steep * by_n[:, :, None] * each).reshape(n * M, M),
                (steep[:, :, None] * own[:, None, :, None] * each[None, :, None, :]).reshape(n * M, S * M),
            ],
            axis=1,
        )
        between = np.kron(np.eye(S) - 1 / S, each) / _SPREAD_LEVEL
        scale = (np.eye(M * K) / _SPREAD_A, np.eye(M) / _SPREAD_N, between)
        bottom = np.zeros((M * K + M + S * M, top.shape[1]))
        place = 0
        for block in scale:
            bottom[place : place + len(block), place : place + len(block)] = weight * block
            place += len(block)
        return np.concatenate([top, bottom])

    start = np.concatenate([np.zeros(M * K + M), np.tile(centre, S)])
    found = least_squares(residuals, start, jac=jacobian, max_nfev=60, ftol=1e-6)  # pyright: ignore[reportArgumentType]
    return unpacked(found.x)


def _robust(r: np.ndarray) -> np.ndarray:
    """±√ρ, whose square is ρ."""
    return np.sign(r) * np.sqrt(2 * (np.sqrt(1 + r * r) - 1))


def _robust_slope(r: np.ndarray) -> np.ndarray:
    """Its derivative, 1 at zero."""
    root = np.abs(_robust(r))
    return np.where(root > 1e-6, np.abs(r) / (np.sqrt(1 + r * r) * np.where(root > 1e-6, root, 1)), 1)

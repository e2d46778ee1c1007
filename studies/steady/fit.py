r"""Coefficients of the steady law from labelled recordings, with the level of every session as a nuisance.

    min  Σ ρ((y − ŷ)/σ) + w [Σ (ln A/τ_A)² + Σ (ln n/τ_n)² + Σ ((o − ō)/τ_o)²],     ρ(r) = 2(√(1 + r²) − 1)

ρ grows like |r|, since some recordings are far off. Without a prior the level of a session and the substances that were
only recorded in it could not be told apart; with it, what sessions have in common stays in the coefficients.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from studies.steady.law import Steady
from unmixnet.errors import ConfigError

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
    problem = _Problem(y, a, np.asarray(sessions))
    M, K, S = problem.sizes
    start = np.concatenate([np.zeros(M * K + M), np.tile(y.mean(axis=0) - 1, S)])
    found = least_squares(problem.residuals, start, jac=problem.jacobian, max_nfev=60, ftol=1e-6)  # pyright: ignore
    return problem.law(found.x)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Residuals whose squares add up to the sum above, over one row of ln A, ln n and o."""

    y: np.ndarray
    a: np.ndarray
    session: np.ndarray

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Sensors M, substances K, sessions S."""
        return self.y.shape[1], self.a.shape[1], int(self.session.max()) + 1

    def law(self, row: np.ndarray) -> Steady:
        M, K, S = self.sizes
        log_A, log_n, levels = np.split(row, (M * K, M * K + M))
        return Steady(log_A.reshape(M, K), log_n, levels.reshape(S, M))

    def left(self, law: Steady) -> np.ndarray:
        """(y − ŷ)/σ, shape (n, M)."""
        return (self.y - law.response(self.a) - law.levels[self.session]) / _SIGMA

    def residuals(self, row: np.ndarray) -> np.ndarray:
        return np.concatenate([_robust(self.left(self.law(row))).ravel(), self._prior() @ row])

    def jacobian(self, row: np.ndarray) -> np.ndarray:
        law, (M, _, S) = self.law(row), self.sizes
        by_A, by_n = law.slopes(self.a)
        steep, mine = -_robust_slope(self.left(law)) / _SIGMA, np.eye(M)
        by_level = np.einsum("ns,mp->nmsp", np.eye(S)[self.session], mine)
        parts = (by_A[:, :, None] * mine[..., None], by_n[..., None] * mine, by_level)
        top = [(steep.reshape(steep.shape + (1,) * (part.ndim - 2)) * part).reshape(steep.size, -1) for part in parts]
        return np.concatenate([np.concatenate(top, axis=1), self._prior()])

    def _prior(self) -> np.ndarray:
        """Its residuals are linear in the row; of levels only the departure from their mean counts."""
        M, K, S = self.sizes
        between = np.kron(np.eye(S) - 1 / S, np.eye(M))
        return np.sqrt(_WEIGHT) * block_diag(np.eye(M * K) / _SPREAD_A, np.eye(M) / _SPREAD_N, between / _SPREAD_LEVEL)


def _robust(r: np.ndarray) -> np.ndarray:
    """±√ρ, whose square is ρ."""
    return np.sign(r) * np.sqrt(2 * (np.sqrt(1 + r * r) - 1))


def _robust_slope(r: np.ndarray) -> np.ndarray:
    """Its derivative, 1 at zero."""
    root = np.abs(_robust(r))
    return np.where(root > 1e-6, np.abs(r) / (np.sqrt(1 + r * r) * np.where(root > 1e-6, root, 1)), 1)

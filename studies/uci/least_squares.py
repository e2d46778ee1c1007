r"""Nonlinear least squares by Levenberg–Marquardt, with the covariance of what was fitted.

    min_z  Σ ρ(rᵢ(z)),      ρ(r) = s² (√(1 + r²/s²) − 1) · 2        (near r²; grows like |r| beyond the scale s)

Each step solves (JᵀWJ + λ D) Δz = −JᵀWr with the weights W = 1/√(1 + r²/s²) and D the diagonal of JᵀWJ. The covariance
is σ² (JᵀWJ)⁻¹, the inverse Fisher information of Gaussian noise, σ² the weighted residual variance; neighbouring
readings are not independent, so the caller says how many of them count as one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["Solution", "levenberg_marquardt", "standard_errors"]

Residual = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From parameters (p,) to residuals (n,) and their Jacobian (n, p)."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the iteration ended.

    Arguments:
        z: parameters, shape (p,).
        covariance: of the parameters if all residuals were independent, shape (p, p).
        cost: Σ ρ at the end.
        steps: iterations taken.
        converged: whether the last accepted step changed the cost by less than the tolerance.
    """

    z: np.ndarray
    covariance: np.ndarray
    cost: float
    steps: int
    converged: bool


def levenberg_marquardt(
    residual: Residual,
    z: np.ndarray,
    *,
    scale: float = np.inf,
    steps: int = 200,
    tolerance: float = 1e-8,
    largest: float = 1.0,
) -> Solution:
    """Minimise Σ ρ(r) from a start.

    Arguments:
        residual: gives residuals and their Jacobian.
        scale: s, where a residual starts to count as an outlier; infinite for plain least squares.
        steps: most iterations.
        tolerance: relative change of the cost at which to stop.
        largest: longest step of any parameter; parameters are logarithms, so one is a factor of e.
    """
    z, damping, converged = np.array(z, float), 1e-3, False
    r, J = residual(z)
    cost, count = _cost(r, scale), 0
    while count < steps and not converged and damping < 1e12:
        count += 1
        W = 1 / np.sqrt(1 + (r / scale) ** 2)
        A, g = (J * W[:, None]).T @ J, J.T @ (W * r)
        D = np.diag(A) + 1e-12 * np.trace(A) / len(z)
        step = np.linalg.lstsq(A + damping * np.diag(D), g, rcond=None)[0]
        trial = z - step * min(1.0, largest / max(np.abs(step).max(), 1e-300))
        r_new, J_new = residual(trial)
        lower = _cost(r_new, scale)
        if lower <= cost:
            converged = cost - lower <= tolerance * cost
            z, r, J, cost, damping = trial, r_new, J_new, lower, max(damping / 5, 1e-12)
        else:
            damping *= 4
    return Solution(z, _covariance(r, J, scale), cost, count, converged)


def standard_errors(solution: Solution, *, independent: float = 1.0) -> np.ndarray:
    """Standard error of each parameter; `independent` is the share of the residuals that count as independent."""
    return np.sqrt(np.maximum(np.diag(solution.covariance), 0) / independent)


def _cost(r: np.ndarray, scale: float) -> float:
    if not np.all(np.isfinite(r)):
        return np.inf
    return float(np.sum(r**2 if np.isinf(scale) else 2 * scale**2 * (np.sqrt(1 + (r / scale) ** 2) - 1)))


def _covariance(r: np.ndarray, J: np.ndarray, scale: float) -> np.ndarray:
    W = 1 / np.sqrt(1 + (r / scale) ** 2)
    variance = float(np.sum(W * r**2) / max(np.sum(W) - J.shape[1], 1))
    return variance * np.linalg.pinv((J * W[:, None]).T @ J, hermitian=True)

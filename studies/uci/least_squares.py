r"""Robust nonlinear least squares by SciPy, with the covariance of what was fitted.

    min_z  Σ ρ(rᵢ(z)),      ρ(r) = s² (√(1 + r²/s²) − 1) · 2        (near r²; grows like |r| beyond the scale s)

is SciPy's `soft_l1`. The covariance is σ² (JᵀWJ)⁻¹ with the weights W = 1/√(1 + r²/s²): the inverse Fisher information
of Gaussian noise, σ² the weighted residual variance. Neighbouring readings are not independent, so the caller gives
how many of them count as one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

__all__ = ["RobustFit", "robust_fit", "standard_errors"]

Vector = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class RobustFit:
    """Fitted parameters.

    Arguments:
        z: parameters, shape (p,).
        residuals: at z, shape (n,).
        covariance: of the parameters if all residuals were independent, shape (p, p).
        converged: whether the solver stopped by a tolerance, and not by the number of steps.
    """

    z: np.ndarray
    residuals: np.ndarray
    covariance: np.ndarray
    converged: bool


def robust_fit(
    residuals: Vector,
    jacobian: Vector,
    start: np.ndarray,
    *,
    width: np.ndarray,
    scale: float,
    steps: int,
    tolerance: float = 1e-8,
) -> RobustFit:
    """Minimise Σ ρ(r) from a start.

    Arguments:
        residuals: from parameters (p,) to residuals (n,).
        jacobian: from parameters (p,) to the Jacobian (n, p).
        width: of each parameter's prior, shape (p,): the unit in which steps are measured.
        scale: s, where a residual starts to count as an outlier.
        steps: most evaluations of the residuals.
        tolerance: relative change of the cost at which to stop.
    """
    solution = least_squares(
        residuals,
        start,
        jac=jacobian,  # pyright: ignore[reportArgumentType]
        x_scale=width,
        loss="soft_l1",
        f_scale=scale,
        ftol=tolerance,
        max_nfev=steps,
    )
    covariance = _covariance(solution.fun, jacobian(solution.x), scale)
    return RobustFit(solution.x, solution.fun, covariance, solution.status > 0)


def standard_errors(fit: RobustFit, *, independent: float = 1.0) -> np.ndarray:
    """Standard error of each parameter; `independent` is the share of the residuals that count as independent."""
    return np.sqrt(np.maximum(np.diag(fit.covariance), 0) / independent)


def _covariance(r: np.ndarray, J: np.ndarray, scale: float) -> np.ndarray:
    W = 1 / np.sqrt(1 + (r / scale) ** 2)
    variance = float(np.sum(W * r**2) / max(np.sum(W) - J.shape[1], 1))
    return variance * np.linalg.pinv((J * W[:, None]).T @ J, hermitian=True)

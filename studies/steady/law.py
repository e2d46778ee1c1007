r"""The signal that sensors settle at: competitive adsorption at equilibrium, and a power law of the conductance.

    y_m = o_{s,m} + n_m ln(1 + Σ_k A_mk a_k)

a are the shares of the substances, A_mk = β K c: what substance k alone adds to the conductance of sensor m, in units
of clean air, at the usual strength; n_m the exponent of the readout; o_{s,m} the level of sensor m in clean air in
session s. Conductance follows covered over empty sites, β θ_k/θ_0, whose equilibrium is K c_k (the extended Langmuir
isotherm of `physics/adsorption.py`). Substances share the surface: their signals do not add.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Steady"]


@dataclass(frozen=True, eq=False)
class Steady:
    """Coefficients of the law.

    Arguments:
        log_A: ln A, shape (M, K).
        log_n: ln n, shape (M,).
        levels: o, shape (sessions, M).
    """

    log_A: np.ndarray
    log_n: np.ndarray
    levels: np.ndarray

    def response(self, a: np.ndarray) -> np.ndarray:
        """Signal above clean air of mixtures of shape (n, K), as (n, M)."""
        return np.exp(self.log_n) * np.log1p(a @ np.exp(self.log_A).T)

    def slopes(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂y/∂ln A of shape (n, M, K) and ∂y/∂ln n of shape (n, M)."""
        A, n = np.exp(self.log_A), np.exp(self.log_n)
        load = a @ A.T
        return (n / (1 + load))[:, :, None] * a[:, None, :] * A, n * np.log1p(load)

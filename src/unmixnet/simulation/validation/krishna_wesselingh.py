"""O3: the matrix of Fick diffusivities printed by Krishna & Wesselingh (1997), p. 872."""

import numpy as np

from unmixnet.simulation.validation.check import Check, close, flux_of_gradient

__all__ = ["krishna_wesselingh"]

_ORACLE = "O3 Krishna & Wesselingh 1997"
_PAIRS = (8.33e-5, 6.80e-5, 1.68e-5)
_PRINTED = {(0, 0): 7.68e-5, (0, 1): -0.11e-5, (1, 0): -3.832e-5, (1, 1): 2.16e-5}
_EXACT = {(0, 0): 7.6813e-5, (0, 1): -0.10887e-5, (1, 0): -3.8306e-5, (1, 1): 2.1532e-5}


def krishna_wesselingh(*, pairs: tuple[float, float, float] = _PAIRS) -> list[Check]:
    """[D] at x = (.25, .50, .25) from D12, D13, D23; species 3 is the dependent one and stands first here."""
    D12, D13, D23 = pairs
    D = np.array([[1.0, D13, D23], [D13, 1.0, D12], [D23, D12, 1.0]])
    x = np.array([0.25, 0.25, 0.50])
    checks = []
    for j in (0, 1):
        gradient = np.array([-1.0, float(j == 0), float(j == 1)])
        column = -flux_of_gradient(x, gradient, 1.0, D)[1:]
        for i in (0, 1):
            printed, exact = _PRINTED[i, j], _EXACT[i, j]
            # printed with two or three digits: half a per cent, or half of the last digit
            tolerance = max(0.005 * abs(printed), 0.002e-5)
            checks.append(close(_ORACLE, f"D{i + 1}{j + 1} [m²/s], as printed", column[i], printed, tolerance))
            checks.append(close(_ORACLE, f"D{i + 1}{j + 1} [m²/s], exactly", column[i], exact, 1e-4 * abs(exact)))
    return checks

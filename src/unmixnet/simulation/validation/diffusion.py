"""O1, O2, O3: fluxes of the Maxwell–Stefan law against Cantera, 50-digit arithmetic and a published matrix.

O1: Cantera gives mass fluxes j_k = ρ W_k/W̄² Σ_j W_j D_kj ∇x_j in the mass-average frame; ours are molar fluxes in the
molar-average frame, J − x (W·J)/(W·x) in the other. Both come from the same binary coefficients.
O2: 50 digits, component by component, with traces down to 1e-20.
O3: the matrix of Fick diffusivities printed by Krishna & Wesselingh (1997), p. 872.
"""

import mpmath as mp
import numpy as np

from unmixnet.physics.maxwell_stefan import Form
from unmixnet.simulation.validation.check import Check, at_most, close, component_error, flux_of_gradient, norm_error

__all__ = ["cantera_flux", "exact_flux", "krishna_wesselingh", "mpmath_flux"]

_CANTERA = "O1 Cantera 3.2"


def cantera_flux(*, swap: bool = False) -> list[Check]:
    """Norm-wise agreement for 3, 12 and 53 species of GRI-3.0; `swap` exchanges two diffusivities."""
    import cantera as ct

    everything = ct.Species.list_from_file("gri30.yaml")
    checks = []
    for n in (3, 12, 53):
        gas = ct.Solution(thermo="ideal-gas", species=everything[:n], transport_model="multicomponent")
        rng = np.random.default_rng(n)
        x = rng.dirichlet(np.ones(n)) * (1 - 2e-3 * n) + 2e-3 if n < 53 else rng.dirichlet(np.full(n, 20.0))
        x /= x.sum()
        gas.TPX = 308.3, ct.one_atm, x
        gradient = rng.normal(size=n) * x
        gradient -= gradient.mean()
        D = gas.binary_diff_coeffs.copy()
        if swap:
            D[0, 1], D[0, 2] = D[0, 2], D[0, 1]
            D[1, 0], D[2, 0] = D[0, 1], D[0, 2]
        J = flux_of_gradient(x, gradient, 1e3 * gas.density_mole, D)
        W = gas.molecular_weights
        ours = W * (J - x * (W @ J) / (W @ x)) / 1e3
        theirs = gas.density * W / gas.mean_molecular_weight**2 * (gas.multi_diff_coeffs @ (W * gradient))
        checks.append(at_most(_CANTERA, f"mass flux, {n} species, norm-wise error", norm_error(ours, theirs), 1e-12))
    return checks


_MPMATH = "O2 mpmath, 50 digits"
_PRECISIONS = (("float64", 1e-20, 1e-12), ("float32", 1e-9, 1e-3))


def mpmath_flux(*, form: Form = "exact") -> list[Check]:
    """Component-wise error for 12 and 50 odorants; the bordered system (`ideal`) fails it in float32."""
    checks = []
    for dtype, least, tolerance in _PRECISIONS:
        for K in (12, 50):
            x_tail, x_head, D = _traces(K, least, np.dtype(dtype))
            J = _ours(x_tail, x_head, D, form)
            error = component_error(J.astype(float), exact_flux(x_tail, x_head, 40.0, 1e-2, D))
            name = f"{dtype}, {K} odorants, x ≥ {least:g}, worst component"
            checks.append(at_most(_MPMATH, name, error, tolerance))
    return checks


def _traces(K: int, least: float, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two neighbouring compositions with traces spread evenly over the decades, and a D that spreads over five."""
    rng = np.random.default_rng(K)
    mole_fractions = 10.0 ** rng.uniform(np.log10(least), -2, K)
    tail, head = mole_fractions * rng.uniform(1.1, 1.9, K), mole_fractions * rng.uniform(0.1, 0.9, K)
    D = 1e-5 * np.exp(rng.uniform(0, np.log(5), (K + 1, K + 1)))
    D = np.sqrt(D * D.T).astype(dtype)
    sides = [np.concatenate([[1 - side.sum()], side]).astype(dtype) for side in (tail, head)]
    return sides[0], sides[1], D


def _ours(x_tail: np.ndarray, x_head: np.ndarray, D: np.ndarray, form: Form) -> np.ndarray:
    import jax.numpy as jnp

    from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux

    law = MaxwellStefan(jnp.asarray(D), jnp.ones(1, D.dtype), form=form)
    c, length = jnp.full(1, 40.0, D.dtype), jnp.full(1, 1e-2, D.dtype)
    J, _ = edge_flux(law, jnp.asarray(x_tail)[:, None], jnp.asarray(x_head)[:, None], c, length)
    return np.asarray(J[:, 0])


def exact_flux(x_tail: np.ndarray, x_head: np.ndarray, c: float, length: float, D: np.ndarray) -> np.ndarray:
    """The same edge in 50 digits: K × K system with the carrier eliminated."""
    with mp.workdps(50):
        tail, head = [mp.mpf(float(v)) for v in x_tail], [mp.mpf(float(v)) for v in x_head]
        length_ = mp.mpf(float(np.asarray(length, x_tail.dtype)))
        tail[0], head[0] = 1 - sum(tail[1:]), 1 - sum(head[1:])
        x = [(a + b) / 2 for a, b in zip(tail, head, strict=True)]
        K = len(x) - 1
        R = [[mp.mpf(1) / mp.mpf(float(D[i, j])) if i != j else mp.mpf(0) for j in range(K + 1)] for i in range(K + 1)]
        A, b = mp.matrix(K, K), mp.matrix(K, 1)
        for i in range(1, K + 1):
            for j in range(1, K + 1):
                A[i - 1, j - 1] = -x[i] * (R[i][j] - R[i][0])
            A[i - 1, i - 1] = sum(R[i][j] * x[j] for j in range(K + 1)) + x[i] * R[i][0]
            b[i - 1] = -mp.mpf(c) * (head[i] - tail[i]) / length_
        J = list(mp.lu_solve(A, b))
        return np.array([float(-sum(J)), *(float(v) for v in J)])


_KRISHNA = "O3 Krishna & Wesselingh 1997"
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
            checks.append(close(_KRISHNA, f"D{i + 1}{j + 1} [m²/s], as printed", column[i], printed, tolerance))
            checks.append(close(_KRISHNA, f"D{i + 1}{j + 1} [m²/s], exactly", column[i], exact, 1e-4 * abs(exact)))
    return checks

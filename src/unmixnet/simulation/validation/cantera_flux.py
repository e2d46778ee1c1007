"""O1: Stefan–Maxwell fluxes against Cantera's multicomponent diffusion coefficients.

Cantera gives mass fluxes j_k = ρ W_k/W̄² Σ_j W_j D_kj ∇x_j in the mass-average frame; ours are molar fluxes in the
molar-average frame, J − x (W·J)/(W·x) in the other. Both come from the same binary coefficients.
"""

import numpy as np

from unmixnet.simulation.validation.check import Check, at_most, flux_of_gradient, norm_error

__all__ = ["cantera_flux"]

_ORACLE = "O1 Cantera 3.2"


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
        checks.append(at_most(_ORACLE, f"mass flux, {n} species, norm-wise error", norm_error(ours, theirs), 1e-12))
    return checks

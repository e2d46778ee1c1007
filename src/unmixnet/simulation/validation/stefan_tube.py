"""O5: evaporation of acetone and methanol through stagnant air (Taylor & Krishna 1993, example 2.1.1).

The tube is a chain of cells; on every edge the total flux is Nᵢ = Jᵢ + x̄ᵢ N_t with the drift N_t that keeps air at
rest. The steady profile is found by Newton's method on the cells, J by the edge flux of the rollout; the scheme is of
second order, so that three meshes extrapolate to the published digits (Richardson).
"""

import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.conditions import GAS_CONSTANT
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux
from unmixnet.simulation.validation.check import Check, close

__all__ = ["stefan_tube"]

_ORACLE = "O5 Stefan tube"
_PAIRS = (8.48e-6, 13.72e-6, 19.91e-6)
_FLUX = (1.78300554e-3, 3.12799153e-3)
_PROFILE = {0.25: (0.2906556, 0.4647094), 0.5: (0.2422534, 0.3665944), 0.75: (0.1569185, 0.2176599)}


def stefan_tube(*, pairs: tuple[float, float, float] = _PAIRS, frozen_drift: bool = False) -> list[Check]:
    """Fluxes and profile, extrapolated from three meshes; `frozen_drift` forgets that air must stay at rest."""
    a, b, c = (_solve(n, pairs, frozen_drift) for n in (16, 32, 64))
    best = (16 * (4 * c - b) / 3 - (4 * b - a) / 3) / 15
    names = ("acetone", "methanol")
    checks = [close(_ORACLE, f"flux of {names[i]} [mol/(m² s)]", best[i], _FLUX[i], 1e-6 * _FLUX[i]) for i in range(2)]
    for k, (eta, x) in enumerate(_PROFILE.items()):
        for i in range(2):
            checks.append(close(_ORACLE, f"x of {names[i]} at η = {eta}", best[2 + 2 * k + i], x[i], 2e-6))
    return checks


def _solve(n: int, pairs: tuple[float, float, float], frozen_drift: bool) -> np.ndarray:
    """(N1, N2, x at .25, .5, .75) on n cells."""
    D12, D13, D23 = pairs
    D = jnp.array([[1.0, D13, D23], [D13, 1.0, D12], [D23, D12, 1.0]])
    h = 0.238 / n
    length = jnp.full(n + 1, h).at[0].set(h / 2).at[-1].set(h / 2)
    law = MaxwellStefan(D, jnp.ones(n + 1))
    c = jnp.full(n + 1, 99.4e3 / (GAS_CONSTANT * 328.5))
    bottom, top = jnp.array([0.319, 0.528]), jnp.zeros(2)

    def total_flux(inner):
        odorants = jnp.concatenate([bottom[:, None], inner.reshape(2, n), top[:, None]], axis=1)
        x = jnp.concatenate([1 - odorants.sum(0, keepdims=True), odorants])
        J, _ = edge_flux(law, x[:, :-1], x[:, 1:], c, length)
        mean = 0.5 * (x[:, :-1] + x[:, 1:])
        drift = 0.0 if frozen_drift else -J[:1] / mean[:1]
        return (J + mean * drift)[1:], x

    def residual(inner):
        return jnp.diff(total_flux(inner)[0], axis=1).ravel()

    @jax.jit
    def newton(inner):
        return inner - jnp.linalg.solve(jax.jacfwd(residual)(inner), residual(inner))

    height = (jnp.arange(n) + 0.5) / n
    inner = (bottom[:, None] * (1 - height)).ravel()
    for _ in range(8):
        inner = newton(inner)
    flux, x = total_flux(inner)
    faces = 0.5 * (x[1:, 1:-2] + x[1:, 2:-1])
    at = [faces[:, round(eta * n) - 1] for eta in _PROFILE]
    return np.concatenate([np.asarray(flux.mean(1)), *map(np.asarray, at)])

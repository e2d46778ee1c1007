"""O2: fluxes against 50-digit arithmetic, component by component, with traces down to 1e-20."""

import mpmath as mp
import numpy as np

from unmixnet.physics.maxwell_stefan import Form
from unmixnet.simulation.validation.check import Check, at_most, component_error

__all__ = ["exact_flux", "mpmath_flux"]

_ORACLE = "O2 mpmath, 50 digits"
_CASES = (("float64", 1e-20, 1e-12), ("float32", 1e-9, 1e-3))


def mpmath_flux(*, form: Form = "exact") -> list[Check]:
    """Component-wise error for 12 and 50 odorants; the bordered system (`ideal`) fails it in float32."""
    checks = []
    for dtype, least, tolerance in _CASES:
        for K in (12, 50):
            x_tail, x_head, D = _case(K, least, np.dtype(dtype))
            J = _ours(x_tail, x_head, D, form)
            error = component_error(J.astype(float), exact_flux(x_tail, x_head, 40.0, 1e-2, D))
            name = f"{dtype}, {K} odorants, x ≥ {least:g}, worst component"
            checks.append(at_most(_ORACLE, name, error, tolerance))
    return checks


def _case(K: int, least: float, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two neighbouring compositions with traces spread evenly over the decades, and a D that spreads over five."""
    rng = np.random.default_rng(K)
    traces = 10.0 ** rng.uniform(np.log10(least), -2, K)
    tail, head = traces * rng.uniform(1.1, 1.9, K), traces * rng.uniform(0.1, 0.9, K)
    D = 1e-5 * np.exp(rng.uniform(0, np.log(5), (K + 1, K + 1)))
    D = np.sqrt(D * D.T).astype(dtype)
    sides = [np.concatenate([[1 - side.sum()], side]).astype(dtype) for side in (tail, head)]
    return sides[0], sides[1], D


def _ours(x_tail: np.ndarray, x_head: np.ndarray, D: np.ndarray, form: Form) -> np.ndarray:
    import jax.numpy as jnp

    from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux

    law = MaxwellStefan(jnp.asarray(D), jnp.ones(1, D.dtype), form=form)
    c, length = jnp.full(1, 40.0, D.dtype), jnp.full(1, 1e-2, D.dtype)
    return np.asarray(edge_flux(law, jnp.asarray(x_tail)[None], jnp.asarray(x_head)[None], c, length)[0][0])


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

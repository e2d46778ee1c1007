"""O6: the adsorption generator against the extended Langmuir isotherm, IAST, `expm` and the two-state solution."""

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from unmixnet.physics.adsorption import coverage, generator, stationary_coverage
from unmixnet.simulation.validation.check import Check, at_most, close

__all__ = ["langmuir"]

_ORACLE = "O6 Langmuir"
_B, _P, _CAPACITY = (0.3, 1.7, 0.05), (1.0, 0.4, 5.0), 2.0
_LOADING = (0.2690583, 0.6098655, 0.2242152)


def langmuir(*, affinity: tuple[float, float, float] = _B, halve_desorption: bool = False) -> list[Check]:
    """Stationary loadings q θ and transients; `halve_desorption` makes the transient's generator wrong."""
    k_des = jnp.array([0.2, 3.0, 0.01])
    lam = jnp.array(affinity) * k_des * jnp.array(_P)
    delta = 0.5 * k_des if halve_desorption else k_des
    checks = []
    long = coverage(jnp.array([1.0, 0, 0, 0]), lam, delta, jnp.asarray(1e6))
    for i, loading in enumerate(_LOADING):
        closed = _CAPACITY * float(stationary_coverage(lam, k_des)[1 + i])
        checks.append(close(_ORACLE, f"loading of species {i + 1}, isotherm", closed, loading, 1e-7))
        checks.append(
            close(_ORACLE, f"loading of species {i + 1}, after 1e6 s", _CAPACITY * float(long[1 + i]), loading, 1e-7)
        )
    start = np.array([0.4, 0.3, 0.1, 0.2])
    for t in (0.01, 1.0, 100.0):
        reference = scipy.linalg.expm(t * np.asarray(generator(lam, k_des))) @ start
        error = np.max(np.abs(np.asarray(coverage(jnp.asarray(start), lam, delta, jnp.asarray(t))) - reference))
        checks.append(at_most(_ORACLE, f"transient at {t:g} s against expm", error, 1e-12))
    a, d, t = 0.7, 0.4, 1.3
    two = coverage(jnp.array([1.0, 0.0]), jnp.array([a]), jnp.array([d]) * (delta / k_des)[0], jnp.asarray(t))
    exact = a / (a + d) * (1 - np.exp(-(a + d) * t))
    checks.append(close(_ORACLE, "two states, a/(a+d) (1 − e^{−(a+d)t})", float(two[1]), exact, 1e-12))
    return checks

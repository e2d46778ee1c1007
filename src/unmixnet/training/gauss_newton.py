r"""Gauss–Newton with damping and conjugate gradients: least squares where the Jacobian is too large to write down.

    (JᵀJ + λ I) s = −Jᵀ r,    min ‖r(p)‖²

Every product with J or Jᵀ is one sweep through the solver. λ shrinks while the linear picture predicts what happens and
grows where it does not; a step that does not lower ‖r‖² is not taken, whatever it gave.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

__all__ = ["gauss_newton"]

_SHRINK, _GROW = 4.0, 5.0
_LEAST = 1e-9


def gauss_newton(
    residuals: Callable[[Float[Array, " P"]], Any],
    start: Float[Array, " P"],
    *,
    iterations: int,
    products: int = 60,
    damping: float = 1e-4,
    watch: Callable[[int, float], None] = lambda iteration, total: None,
) -> Float[Array, " P"]:
    """A row of parameters with a smaller sum of squared residuals.

    Arguments:
        residuals: from the row to any tree of arrays.
        iterations: steps that are tried.
        products: with JᵀJ, at most, for one of them.
        damping: λ of the first.
        watch: told ‖r‖² after each.
    """

    @jax.jit
    def attempt(row: Float[Array, " P"], damping: Float[Array, ""]):
        r, along = jax.linearize(residuals, row)
        back = jax.linear_transpose(along, row)
        (slope,) = back(r)
        step, _ = jax.scipy.sparse.linalg.cg(
            lambda v: back(along(v))[0] + damping * v, -slope, maxiter=products, tol=1e-3
        )
        predicted = _square(jax.tree.map(jnp.add, r, along(step)))
        return row + step, _square(r), _square(residuals(row + step)), predicted

    row, damp = start, damping
    for iteration in range(iterations):
        moved, *sums = attempt(row, jnp.asarray(damp, row.dtype))
        now, then, predicted = (float(value) for value in sums)
        trust = (now - then) / max(now - predicted, 1e-30)
        if np.isfinite(then) and trust > 1e-3:
            row, now = moved, then
            damp = max(damp / (_SHRINK if trust > 0.75 else 2 if trust > 0.25 else 1), _LEAST)
        else:
            damp *= _GROW
        watch(iteration, now)
    return row


def _square(tree: Any) -> Float[Array, ""]:
    return jnp.asarray(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))

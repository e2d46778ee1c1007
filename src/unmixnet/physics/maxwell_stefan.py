r"""Maxwell–Stefan flux of the edges: from composition, gradient and pair diffusivities to K + 1 coupled fluxes.

    −c̄ gᵢ = Σ_{j≠i} Rᵢⱼ (x̄ⱼ Jᵢ − x̄ᵢ Jⱼ),    Rᵢⱼ = 1/Dᵢⱼ,    Σᵢ Jᵢ = 0

x̄ mean mole fraction of the edge [–], g gradient [1/m], c̄ total concentration [mol/m³], D [m²/s], J [mol/(m² s)].

**How it is solved.** With M = diag(R x̄) the relation is (M − X R) J = −c̄ g, a singular M-matrix whose left null
vector is 1; adding σ x̄ 1ᵀ makes it regular and Σ J = 0 falls out. One sweep of Jacobi leaves a remainder
proportional to x̄, J = M⁻¹b + x̄∘w, and w solves (M − R X) w = R M⁻¹ b, which is self-adjoint and well-conditioned
in the inner product weighted by x̄: conjugate gradients need one to ten iterations, each a single product with the
shared R. Nothing is divided by x̄, so traces keep their relative accuracy in float32 and x̄ = 0 is an ordinary point.
The dimensionless group is the spread D_max/D_min: for equal diffusivities the first sweep is already exact.

**Departures from the paper**: the flux is J = x̄ w with w carrying c̄ (the supplement multiplies by c̄ twice), there
is no ε in γ, and g₀ = −Σ gᵢ replaces the carrier's own gradient, which rounding would spoil at ppm. The published
projections are kept as `ideal`, `weighted` and `regularised`; `fick` and `unconstrained` remove a rule each.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from unmixnet.physics.ablated_flux import independent_flux

__all__ = ["Form", "MaxwellStefan", "edge_flux", "flux", "pair_diffusivity", "resistance"]

Form = Literal["exact", "direct", "ideal", "weighted", "regularised", "fick", "unconstrained"]
_SWEEPS = 40


class MaxwellStefan(eqx.Module):
    """Diffusion coefficients of a chamber and the form of the projection.

    `exact` and `direct` are trace-exact (matrix-free with a shared D, dense LU with one D per edge); `ideal`,
    `weighted` and `regularised` are the paper's Theorem 2, main text and supplement; `fick` and `unconstrained` are
    its ablations, the second of which does not close Σ J = 0.
    """

    D: Float[Array, "S S"] | Float[Array, "S S #E *#b"]
    """Pair diffusivities [m²/s], symmetric and positive; the diagonal is ignored. Shared by all edges and samples, or
    one matrix for each (of length one along the edges where a sample has one matrix for all of its edges)."""
    scale: Float[Array, "E *#b"]
    """Factor on D per edge [–], e.g. tortuosity, or a bounded modulation of the whole matrix."""
    prior: Float[Array, "S E *#b"] | None = None
    """Flux prior w̃ of the `weighted` form, learned flux of the `unconstrained` one [mol/(m² s)]; zero if absent."""
    omega: Float[Array, "S *#b"] | None = None
    """Diagonal of Ω in the `weighted` form; ones if absent."""
    mu: float = eqx.field(static=True, default=1e-6)
    """μ of the `weighted` form."""
    epsilon: float = eqx.field(static=True, default=1e-8)
    """ε_K of the `regularised` form."""
    form: Form = eqx.field(static=True, default="exact")

    @property
    def closed(self) -> bool:
        """Whether the fluxes of an edge sum to zero."""
        return self.form != "unconstrained"


def pair_diffusivity(raw: Float[Array, "S S"], minimum: float = 1e-7) -> Float[Array, "S S"]:
    """Symmetric positive D from unconstrained numbers: D_min + softplus((d + dᵀ)/2)."""
    return minimum + jax.nn.softplus(0.5 * (raw + raw.T))


def resistance(D: Float[Array, "S S *n"]) -> Float[Array, "S S *n"]:
    """R = 1/D with the mean of its row on the diagonal.

    The diagonal cancels from the Maxwell–Stefan relation, so it is free; the mean makes all-equal D one sweep.
    """
    S = D.shape[0]
    eye = jnp.eye(S, dtype=D.dtype).reshape(S, S, *(1,) * (D.ndim - 2))
    R = (1 - eye) / jnp.where(eye > 0, 1, D)
    return R + eye * (jnp.sum(R, axis=1) / (S - 1))[:, None]


def edge_flux(
    law: MaxwellStefan,
    x_tail: Float[Array, "S E *B"],
    x_head: Float[Array, "S E *B"],
    c: Float[Array, "E *B"],
    length: Float[Array, "E *#b"],
) -> tuple[Float[Array, "S E *B"], Bool[Array, "E *B"]]:
    """Fluxes of all edges [mol/(m² s)], and where the iteration had to be replaced by a direct solve."""
    R = resistance(law.D)
    x, g = 0.5 * (x_tail + x_head), gradient(x_tail, x_head, length)
    if law.form == "exact" and R.ndim == 2:
        J, fell_back = flux(x, -c * g, R)
    else:
        J, fell_back = _dense(law, x, g, c, R), jnp.zeros(c.shape, bool)
    return law.scale * (close(J) if law.closed else J), fell_back


def _dense(law: MaxwellStefan, x, g, c, R) -> Float[Array, "S E *B"]:
    """A dense solve for each edge, or none: trace-exact, a published projection in its own units, or an ablation."""
    prior = jnp.zeros_like(x) if law.prior is None else law.prior
    if law.form in ("fick", "unconstrained"):
        return independent_flux(x, g, c, R, prior if law.form == "unconstrained" else None)
    omega = jnp.ones_like(x[:, :1]) if law.omega is None else law.omega[:, None]

    def one_edge(x, g, c, R, prior, omega):
        if law.form in ("exact", "direct"):
            return _direct(x, -c * g, R)
        if law.form == "weighted":
            return _weighted(x, g, R / c, prior, omega, law.mu)
        return _bordered(x, g, R / c, law.epsilon if law.form == "regularised" else 0.0)

    # the species stay in front; edges and samples are one axis behind them
    x_flat, g_flat = x.reshape(x.shape[0], -1), g.reshape(g.shape[0], -1)
    shared = R.ndim == 2
    R = R if shared else jnp.broadcast_to(R, (*R.shape[:2], *x.shape[1:])).reshape(*R.shape[:2], -1)
    prior, omega = (jnp.broadcast_to(a, x.shape).reshape(a.shape[0], -1) for a in (prior, omega))
    lifted = jax.vmap(one_edge, in_axes=(1, 1, 0, None if shared else 2, 1, 1), out_axes=1)
    return lifted(x_flat, g_flat, c.ravel(), R, prior, omega).reshape(x.shape)


def gradient(
    x_tail: Float[Array, "S *n"], x_head: Float[Array, "S *n"], length: Float[Array, "*l"]
) -> Float[Array, "S *n"]:
    """g = (x_head − x_tail)/ℓ, the carrier's from the others so that Σ g = 0 to the last digit."""
    return close((x_head - x_tail) / length)


def close(v: Float[Array, "S *n"]) -> Float[Array, "S *n"]:
    """Replace the carrier's entry by minus the sum of the odorants'."""
    return jnp.concatenate([-jnp.sum(v[1:], axis=0, keepdims=True), v[1:]])


# ---------------------------------------------------------------- trace-exact, matrix-free


def flux(
    x: Float[Array, "S *n"], b: Float[Array, "S *n"], R: Float[Array, "S S"]
) -> tuple[Float[Array, "S *n"], Bool[Array, "*n"]]:
    """Solve (M − X R + σ x 1ᵀ) J = b of every edge, differentiated implicitly; true where the direct solver was used.

    The derivative is the transposed solve with the same operator, not an unrolled iteration: it is finite and right
    at x = 0, where clean air is.
    """
    m = times(R, x)
    sigma = jnp.mean(R)

    def operator(J):
        return m * J - x * times(R, J) + sigma * x * jnp.sum(J, axis=0)

    frozen = jax.lax.stop_gradient((x, m, R, sigma))
    return jax.lax.custom_linear_solve(
        operator,
        b,
        solve=lambda _, b: _solve(*frozen, b),
        transpose_solve=lambda _, s: _transpose_solve(*frozen, s),
        has_aux=True,
    )


def times(R: Float[Array, "S S *r"], v: Float[Array, "S *n"]) -> Float[Array, "S *n"]:
    """R v: one product, however many edges and samples there are, if they share R."""
    if R.ndim > 2:
        return jnp.sum(R * v[None], axis=1)
    return (R @ v.reshape(v.shape[0], -1)).reshape(v.shape)


def _solve(x, m, R, sigma, b):
    total = jnp.sum(b, axis=0)
    b0 = b - x * total
    J0 = b0 / m
    scale = jnp.sum(jnp.where(x > 0, b0 * J0 / jnp.where(x > 0, x, 1), 0), axis=0)
    w, good = _weighted_cg(x, m, R, times(R, J0), scale)
    J = J0 + x * w
    J = J - x * (jnp.sum(J, axis=0) / jnp.sum(x, axis=0))
    return _direct_unless(good, J + x * total / sigma, lambda x, m: _direct_operator(x, m, R, sigma), x, m, b)


def _transpose_solve(x, m, R, sigma, s):
    mean = jnp.sum(x * s, axis=0)
    w, good = _weighted_cg(x, m, R, s)
    w = w - jnp.sum(x * w, axis=0) + mean / sigma
    return _direct_unless(good, w, lambda x, m: _direct_operator(x, m, R, sigma).T, x, m, s)


def _weighted_cg(x, m, R, s, scale=None):
    """Conjugate gradients for (M − R X) w = s − x·s in the inner product Σ x u v, preconditioned by M.

    The weighted norm ignores traces, so the last iterate w is followed by one sweep of Jacobi, (s + R X w)/m = w + r/m,
    which is already at hand and computes traces from the plentiful components. Also returns whether the residual is
    small compared with `scale` (the size of the solution in the same norm; by default that of s, mean included).
    An edge that has converged waits for the others.
    """
    tolerance, acceptable = (1e-14, 1e-10) if s.dtype == jnp.float64 else (1e-6, 1e-4)
    # in units of its own size, so that a vanishing right-hand side (of a derivative, say) does not underflow
    size = jnp.max(jnp.abs(s), axis=0)
    unit = jnp.where(size > 0, size, 1)
    s = s / unit
    scale = jnp.sum(x * s * s / m, axis=0) if scale is None else scale / unit / unit
    s = s - jnp.sum(x * s, axis=0)
    z = s / m
    first = jnp.sum(x * s * z, axis=0)
    floor = jnp.finfo(s.dtype).tiny / jnp.finfo(s.dtype).eps
    stop = jnp.maximum(tolerance**2 * (first + scale), floor)

    def going(carry):
        _, _, _, rz, k = carry
        return jnp.any(rz > stop) & (k < _SWEEPS)

    def iterate(carry):
        w, r, p, rz, k = carry
        open_ = rz > stop
        Ap = m * p - times(R, x * p)
        alpha = jnp.where(open_, rz / jnp.where(open_, jnp.sum(x * p * Ap, axis=0), 1), 0)
        w, r = w + alpha * p, r - alpha * Ap
        z = r / m
        rz_next = jnp.where(open_, jnp.sum(x * r * z, axis=0), rz)
        return w, r, z + jnp.where(open_, rz_next / jnp.where(open_, rz, 1), 0) * p, rz_next, k + 1

    # one iteration suffices at trace concentrations; it needs no test before it
    w, r, _, rz, _ = jax.lax.while_loop(going, iterate, iterate((jnp.zeros_like(s), s, z, first, 0)))
    return unit * (w + r / m), rz <= jnp.maximum(acceptable**2 * (first + scale), floor)


def _direct_unless(good, solution, operator, x, m, b):
    """Accept the iterate where its residual is small; elsewhere (NaN included) do one dense solve and report it.

    A while-loop of at most one iteration is a branch that stays lazy under `vmap`, where `cond` would compute both
    sides. Its matrix depends on the loop's own state (a good edge gets the identity): XLA would otherwise hoist the
    matrix and its factorisation out and pay them every step.
    """

    def one_edge(bad, solution, x, m, b):
        matrix = operator(jnp.where(bad, x, 0), jnp.where(bad, m, 1))
        return jnp.where(bad, jnp.linalg.solve(matrix, b), solution)

    def solve(carry):
        solution, bad = carry
        flat = [a.reshape(a.shape[0], -1) for a in (solution, x, m, b)]
        solved = jax.vmap(one_edge, in_axes=(0, 1, 1, 1, 1), out_axes=1)(bad.ravel(), *flat)
        return solved.reshape(solution.shape), jnp.zeros_like(bad)

    solution, _ = jax.lax.while_loop(lambda carry: jnp.any(carry[1]), solve, (solution, ~good))
    return solution, ~good


def _direct_operator(x, m, R, sigma):
    return jnp.diag(m) - x[:, None] * R + sigma * x[:, None]


def _direct(x: Float[Array, " S"], b: Float[Array, " S"], R: Float[Array, "S S"]) -> Float[Array, " S"]:
    """The same M-matrix system by dense LU: for one D per edge, and as the reference of the iteration."""
    return jnp.linalg.solve(_direct_operator(x, R @ x, R, jnp.mean(R)), b)


# ---------------------------------------------------------------- as published


def component_laplacian(x: Float[Array, " S"], R_over_c: Float[Array, "S S"]) -> Float[Array, "S S"]:
    """L^c with γᵢⱼ = x̄ᵢ x̄ⱼ/(c̄ Dᵢⱼ): symmetric, positive semidefinite, null vector 1."""
    gamma = x[:, None] * R_over_c * x[None, :]
    gamma = gamma - jnp.diag(jnp.diag(gamma))
    return jnp.diag(jnp.sum(gamma, axis=1)) - gamma


def _bordered(x, g, R_over_c, epsilon):
    """KKT system [[L + εI, x], [xᵀ, 0]] [w; λ] = [−g; 0], J = x w (Theorem 2; ε_K > 0 is the supplement's)."""
    S = x.shape[0]
    L = component_laplacian(x, R_over_c) + epsilon * jnp.eye(S, dtype=x.dtype)
    kkt = jnp.block([[L, x[:, None]], [x[None, :], jnp.zeros((1, 1), x.dtype)]])
    return x * jnp.linalg.solve(kkt, jnp.append(-g, 0))[:S]


def _weighted(x, g, R_over_c, prior, omega, mu):
    """arg min ‖L w + g‖²_Ω + μ‖w − w̃‖² subject to x·w = 0, by its KKT system (the paper's implemented layer)."""
    S = x.shape[0]
    L = component_laplacian(x, R_over_c)
    weighted = L.T * omega
    H = weighted @ L + mu * jnp.eye(S, dtype=x.dtype)
    kkt = jnp.block([[H, x[:, None]], [x[None, :], jnp.zeros((1, 1), x.dtype)]])
    return x * jnp.linalg.solve(kkt, jnp.append(mu * prior - weighted @ g, 0))[:S]

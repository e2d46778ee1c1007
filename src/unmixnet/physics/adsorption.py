r"""Competitive adsorption: coverage θ of one sensor surface as a Markov chain, exact at any stiffness.

    θ̇ = Q θ,   Q_{i0} = λᵢ = k_ads,i cᵢ,   Q_{0i} = δᵢ = k_des,i,   columns sum to zero;   θⁿ⁺¹ = exp(Δt Q) θⁿ

θ₀ is the empty site (not the carrier), k_ads [m³/(mol s)], k_des [1/s], c [mol/m³].

**How it is solved.** Species meet only through the empty site, so the generator is a star and its resolvent is a
formula of O(K):  θ̂₀(z) = (θ₀ + Σ δⱼθⱼ/(z + δⱼ)) / (z (1 + Σ λⱼ/(z + δⱼ))).  Its spectrum is real and never positive,
where the exponential has rational approximations that converge like 9.3⁻ⁿ (Cody, Meinardus & Varga 1969): with n
poles (eight for float32, sixteen for float64) exp(Δt Q)θ is a sum of n/2 resolvents, whatever the stiffness. The
species then follow from Duhamel's formula

    θᵢ(Δt) = e^{−δᵢΔt} θᵢ + λᵢ ∫ e^{−δᵢ(Δt−s)} θ₀(s) ds,

in which θᵢ and λᵢ stand in front, so that traces keep their relative accuracy. No pole lies on the real axis: the
derivative is that of the formula, a few resolvents more, with nothing to unroll.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.geometry import Geometry
from unmixnet.physics.quotient import quotient

__all__ = ["Surface", "adsorb", "coverage", "coverage_expm", "generator", "stationary_coverage"]


# Poles z and residues w of e^x ≈ −2 Re Σ w/(z − x) on x ≤ 0, one of each conjugate pair. Poles by the
# Carathéodory–Fejér method; residues refitted in 50 digits with value 1 at x = 0 (sites are conserved) and 0 at −∞.
# Largest errors of the digits below: 2e-8 with four pairs, 8e-16 with eight.
_FOUR_PAIRS = (
    (3.2209452450548097 + 1.1936196054196022j, -1.8317742916802082 - 9.525617099913028j),
    (2.292249147821563 + 3.6007714960775914j, 2.436230370853159 + 3.716768484699363j),
    (0.2694909873676865 + 6.082032592700793j, -0.6325766370512906 - 0.44391914548544675j),
    (-3.408539501461825 + 8.773034564408876j, 0.02812993813032573 + 0.011573751527724569j),
)
_EIGHT_PAIRS = (
    (6.420533940592359 + 1.1942631045747067j, -64.76569215709705 - 225.6080763393218j),
    (5.952618167138657 + 3.587899621878628j, 113.88250100033062 + 102.45288786100613j),
    (4.997895359002461 + 5.997680921482682j, -62.81178734705349 - 11.283055079905424j),
    (3.514296753799523 + 8.437430165148358j, 15.143736873018193 - 5.766620675813299j),
    (1.425378248139634 + 10.9270937803027j, -1.4905767656306737 + 1.7770248106721485j),
    (-1.406584162949392 + 13.499953752379936j, 0.041615218543221 - 0.15847700694962624j),
    (-5.255436230243672 + 16.222699272425846j, 0.00020365159637760215 + 0.004429853339830231j),
    (-10.83090045859015 + 19.279180729255046j, -4.737060052871064e-07 - 2.452353328212488e-05j),
)


class Surface(eqx.Module):
    """Adsorption kinetics of M sensor surfaces for K odorants."""

    k_ads: Float[Array, "M K"]
    """Adsorption rate constants [m³/(mol s)]."""
    k_des: Float[Array, "M K"]
    """Desorption rate constants [1/s]."""
    sites: Float[Array, " M"]
    """Moles of surface sites A_m Γ_m [mol]: what a full monolayer takes from the gas."""


def generator(lam: Float[Array, " K"], delta: Float[Array, " K"]) -> Float[Array, "S S"]:
    """Q of one sensor from adsorption rates λ = k_ads c and desorption rates δ [1/s]; columns sum to zero."""
    K = lam.shape[0]
    Q = jnp.zeros((K + 1, K + 1), lam.dtype).at[1:, 0].set(lam).at[0, 1:].set(delta)
    return Q - jnp.diag(jnp.sum(Q, axis=0))


def coverage_expm(
    theta: Float[Array, " S"], lam: Float[Array, " K"], delta: Float[Array, " K"], dt: Float[Array, ""]
) -> Float[Array, " S"]:
    """exp(Δt Q) θ by the dense matrix exponential: the paper's formula, kept as the reference."""
    return jax.scipy.linalg.expm(dt * generator(lam, delta)) @ theta


def coverage(
    theta: Float[Array, " S"], lam: Float[Array, " K"], delta: Float[Array, " K"], dt: Float[Array, ""]
) -> Float[Array, " S"]:
    """exp(Δt Q) θ of one sensor by star resolvents: O(K), any stiffness, on the simplex to rounding."""
    return _covered(theta, lam, delta, dt)[0]


def _covered(
    theta: Float[Array, " S"], lam: Float[Array, " K"], delta: Float[Array, " K"], dt: Float[Array, ""]
) -> tuple[Float[Array, " S"], Float[Array, " K"]]:
    """exp(Δt Q) θ, and the share of the step's Δt λᵢ that is adsorbed at its end."""
    a, d = dt * lam, dt * delta
    empty, occupied = theta[0], theta[1:]
    desorbing = d * occupied
    exposure, empty_next = jnp.zeros_like(occupied), jnp.zeros_like(empty)
    # Unrolled over the poles and written in real arithmetic: one fused kernel instead of a stack of complex arrays.
    for z, w in _EIGHT_PAIRS if theta.dtype == jnp.float64 else _FOUR_PAIRS:
        shifted = z.real + d
        size = 1 / (shifted * shifted + z.imag * z.imag)
        re, im = shifted * size, -z.imag * size  # 1/(z + δ)
        numerator = jax.lax.complex(empty + jnp.sum(desorbing * re), jnp.sum(desorbing * im))
        denominator = jax.lax.complex(1 + jnp.sum(a * re), jnp.sum(a * im))
        empty_hat = (-2 * w / z) * numerator / denominator
        exposure = exposure + jnp.real(empty_hat) * re - jnp.imag(empty_hat) * im
        empty_next = empty_next + jnp.real(empty_hat)
    exposure = jnp.maximum(exposure, 0)
    occupied_next = jnp.exp(-d) * occupied + a * exposure
    theta_next = jnp.concatenate([jnp.maximum(empty_next, 0)[None], occupied_next])
    whole = jnp.sum(theta_next)
    return theta_next / whole, exposure / whole


def stationary_coverage(lam: Float[Array, " K"], delta: Float[Array, " K"]) -> Float[Array, " S"]:
    """Null vector of Q: the extended Langmuir isotherm θᵢ = (λᵢ/δᵢ)/(1 + Σ λⱼ/δⱼ), θ₀ = 1/(1 + Σ λⱼ/δⱼ)."""
    ratio = jnp.append(jnp.ones((1,), lam.dtype), lam / delta)
    return ratio / jnp.sum(ratio)


def adsorb(
    N: Float[Array, "V S"],
    theta: Float[Array, "M S"],
    surface: Surface,
    geometry: Geometry,
    dt: Float[Array, ""],
    *,
    reference: bool = False,
) -> tuple[Float[Array, "V S"], Float[Array, "M S"], Float[Array, "V S"]]:
    """Moles and coverages after a step, and the moles that left each cell for the surfaces (negative: desorbed).

    **Departure from the paper**: the sink never takes more than the cell holds; what is not available is not
    adsorbed and its site stays empty.
    """
    c = N[geometry.sensor_cell, 1:] / geometry.volume[geometry.sensor_cell, None]
    rates = (theta, surface.k_ads * c, surface.k_des)
    wanted, exposure = jax.vmap(_covered, in_axes=(0, 0, 0, None))(*rates, dt)
    if reference:
        wanted = jax.vmap(coverage_expm, in_axes=(0, 0, 0, None))(*rates, dt)
    gained = wanted[:, 1:] - theta[:, 1:]
    uptake = surface.sites[:, None] * gained
    demand = geometry.on_cells(jnp.maximum(uptake, 0))
    supply = N[:, 1:]
    short = demand > supply
    spare = jnp.where(supply > 0, 1, _share_of_a_trace(surface, exposure, geometry, dt))
    share = jnp.where(short, quotient(supply, jnp.where(short, demand, 1)), spare)[geometry.sensor_cell]
    taken = jnp.where(uptake >= 0, share * uptake, uptake)
    refused = jnp.where(uptake >= 0, (1 - share) * gained, 0)
    occupied = wanted[:, 1:] - refused
    theta_next = wanted.at[:, 1:].set(occupied).at[:, 0].add(jnp.sum(refused, axis=1))
    sink = jnp.pad(geometry.on_cells(taken), ((0, 0), (1, 0)))
    # share·demand may exceed the supply by a rounding; a cell emptied by its sensors ends at exactly zero. Not by
    # `maximum`, whose derivative is one half where both sides are zero, as they are in clean air.
    left = N - sink
    return jnp.where(left < 0, 0, left), theta_next, sink


def _share_of_a_trace(
    surface: Surface, exposure: Float[Array, "M K"], geometry: Geometry, dt: Float[Array, ""]
) -> Float[Array, "V K"]:
    """Share of the sensors' demand that is met in the limit of a vanishing supply.

    A cell without an odorant limits nothing, but its first molecules would be limited: this gives the derivative at
    zero the slope of the limited sink. Otherwise each step multiplies the derivative by 1 − demand/supply, which
    overflows within a few steps.
    """
    per_mole = geometry.on_cells(surface.sites[:, None] * surface.k_ads * exposure) * dt / geometry.volume[:, None]
    return jax.lax.stop_gradient(1 / jnp.maximum(per_mole, 1))

r"""Competitive adsorption: coverage θ of each sensor surface as a Markov chain, exact at any stiffness.

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

from typing import Any

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
    """Adsorption kinetics of M sensor surfaces for K odorants: Langmuir's, all odorants competing for one kind of site.

    Another law is another module with the same members: `sites`, `rate`, `relaxation`, `cover` and `stationary`.
    """

    k_ads: Float[Array, "K M *#b"]
    """Adsorption rate constants [m³/(mol s)]."""
    k_des: Float[Array, "K M *#b"]
    """Desorption rate constants [1/s]."""
    sites: Float[Array, "M *#b"]
    """Moles of surface sites A_m Γ_m [mol]: what a full monolayer takes from the gas."""

    def rate(self, theta: Float[Array, "S M *B"], c: Float[Array, "K M *B"]) -> Float[Array, "K M *B"]:
        """dθ/dt of the odorants at concentrations c [mol/m³]."""
        return self.k_ads * c * theta[:1] - self.k_des * theta[1:]

    def cover(
        self, theta: Float[Array, "S M *B"], c: Float[Array, "K M *B"], dt: Float[Array, ""]
    ) -> tuple[Float[Array, "S M *B"], Float[Array, "K M *B"]]:
        """Coverage after Δt at constant c; and ∂(coverage)/∂c [m³/mol] of what adsorbed during the step."""
        theta, exposure = _covered(theta, self.k_ads * c, self.k_des, dt)
        return theta, dt * self.k_ads * exposure

    def relaxation(
        self, theta: Float[Array, "S M *B"], c: Float[Array, "K M *B"], volume: Float[Array, "M *#b"]
    ) -> Float[Array, "K M *B"]:
        """How fast a departure of each coverage from equilibrium decays, sites and gas emptying together [1/s]."""
        lam = self.k_ads * c
        return jnp.sum(lam, axis=0) + self.k_des + self.sites / volume * self.k_ads * theta[:1]

    def stationary(self, c: Float[Array, "K M *B"]) -> Float[Array, "S M *B"]:
        """Coverage in equilibrium with c."""
        return stationary_coverage(self.k_ads * c, self.k_des)


def generator(lam: Float[Array, " K"], delta: Float[Array, " K"]) -> Float[Array, "S S"]:
    """Q of one sensor from adsorption rates λ = k_ads c and desorption rates δ [1/s]; columns sum to zero."""
    K = lam.shape[0]
    Q = jnp.zeros((K + 1, K + 1), lam.dtype).at[1:, 0].set(lam).at[0, 1:].set(delta)
    return Q - jnp.diag(jnp.sum(Q, axis=0))


def coverage_expm(
    theta: Float[Array, "S *n"], lam: Float[Array, "K *n"], delta: Float[Array, "K *#n"], dt: Float[Array, ""]
) -> Float[Array, "S *n"]:
    """exp(Δt Q) θ by the dense matrix exponential: the paper's formula, kept as the reference."""

    def one_sensor(theta, lam, delta):
        return jax.scipy.linalg.expm(dt * generator(lam, delta)) @ theta

    flat = [jnp.broadcast_to(a, (a.shape[0], *theta.shape[1:])).reshape(a.shape[0], -1) for a in (theta, lam, delta)]
    return jax.vmap(one_sensor, in_axes=1, out_axes=1)(*flat).reshape(theta.shape)


def coverage(
    theta: Float[Array, "S *n"], lam: Float[Array, "K *n"], delta: Float[Array, "K *#n"], dt: Float[Array, ""]
) -> Float[Array, "S *n"]:
    """exp(Δt Q) θ of every sensor by star resolvents: O(K), any stiffness, on the simplex to rounding."""
    return _covered(theta, lam, delta, dt)[0]


def _covered(theta, lam, delta, dt) -> tuple[Float[Array, "S *n"], Float[Array, "K *n"]]:
    """exp(Δt Q) θ, and the share of the step's Δt λᵢ that is adsorbed at its end."""
    a, d = dt * lam, dt * delta
    empty, occupied = theta[0], theta[1:]
    desorbing = d * occupied
    exposure, empty_next = jnp.zeros_like(occupied), jnp.zeros_like(empty)
    left = jnp.exp(-d) * occupied
    whole = jnp.sum(left, axis=0)
    # Unrolled over the poles and written in real arithmetic: one fused kernel instead of a stack of complex arrays.
    for z, w in _EIGHT_PAIRS if theta.dtype == jnp.float64 else _FOUR_PAIRS:
        shifted = z.real + d
        size = 1 / (shifted * shifted + z.imag * z.imag)
        re, im = shifted * size, -z.imag * size  # 1/(z + δ)
        n_re, n_im = empty + jnp.sum(desorbing * re, axis=0), jnp.sum(desorbing * im, axis=0)
        a_re, a_im = jnp.sum(a * re, axis=0), jnp.sum(a * im, axis=0)
        weight, unit = -2 * w / z, 1 / ((1 + a_re) ** 2 + a_im * a_im)
        q_re, q_im = (n_re * (1 + a_re) + n_im * a_im) * unit, (n_im * (1 + a_re) - n_re * a_im) * unit
        hat_re, hat_im = weight.real * q_re - weight.imag * q_im, weight.real * q_im + weight.imag * q_re
        exposure = exposure + hat_re * re - hat_im * im
        empty_next = empty_next + hat_re
        # what is adsorbed in all, without another sum over the species
        whole = whole + hat_re * a_re - hat_im * a_im
    empty_next = jnp.maximum(empty_next, 0)
    whole = whole + empty_next
    exposure = jnp.maximum(exposure, 0)
    return jnp.concatenate([empty_next[None], left + a * exposure]) / whole, exposure / whole


def stationary_coverage(lam: Float[Array, "K *n"], delta: Float[Array, "K *m"]) -> Float[Array, "S *n"]:
    """Null vector of Q: the extended Langmuir isotherm θᵢ = (λᵢ/δᵢ)/(1 + Σ λⱼ/δⱼ), θ₀ = 1/(1 + Σ λⱼ/δⱼ)."""
    ratio = lam / delta
    ratio = jnp.concatenate([jnp.ones_like(ratio[:1]), ratio])
    return ratio / jnp.sum(ratio, axis=0)


def adsorb(
    N: Float[Array, "S V *B"],
    theta: Float[Array, "S M *B"],
    surface: Surface | Any,
    geometry: Geometry,
    dt: Float[Array, ""],
    *,
    midpoint: bool = False,
    reference: bool = False,
) -> tuple[Float[Array, "S V *B"], Float[Array, "S M *B"], Float[Array, "S V *B"]]:
    """Moles and coverages after a step, and the moles that left each cell for the surfaces (negative: desorbed).

    The surface sees the concentration at the start of the step, which is of first order; with `midpoint` that in its
    middle, predicted by half a step that is linearly implicit, which is of second order.

    **Departure from the paper**: the sink never takes more than the cell holds; what is not available is not
    adsorbed and its site stays empty.
    """
    c = geometry.at_sensors(N[1:] / geometry.volume)
    if midpoint:
        c = _middle(c, theta, surface, geometry, dt)
    wanted, slope = surface.cover(theta, c, dt)
    if reference:
        wanted = coverage_expm(theta, surface.k_ads * c, surface.k_des, dt)
    gained = wanted[1:] - theta[1:]
    uptake = surface.sites * gained
    demand = geometry.on_cells(jnp.maximum(uptake, 0))
    # only where a cell runs short, or is empty, is anything to be limited; the limited sink is the same elsewhere
    short = jnp.any(demand >= N[1:])
    theta_next, taken = jax.lax.cond(
        short,
        lambda: _limited(wanted, gained, uptake, N[1:], demand, slope, surface, geometry),
        lambda: (wanted, uptake),
    )
    sink = geometry.on_cells(taken)
    sink = jnp.concatenate([jnp.zeros_like(sink[:1]), sink])
    # share·demand may exceed the supply by a rounding; a cell emptied by its sensors ends at exactly zero. Not by
    # `maximum`, whose derivative is one half where both sides are zero, as they are in clean air.
    left = N - sink
    return jnp.where(left < 0, 0, left), theta_next, sink


def _limited(
    wanted: Float[Array, "S M *B"],
    gained: Float[Array, "K M *B"],
    uptake: Float[Array, "K M *B"],
    supply: Float[Array, "K V *B"],
    demand: Float[Array, "K V *B"],
    slope: Float[Array, "K M *B"],
    surface: Surface | Any,
    geometry: Geometry,
) -> tuple[Float[Array, "S M *B"], Float[Array, "K M *B"]]:
    """Coverages that gain no more than what the cells can supply, and the moles that they take."""
    short = demand > supply
    spare = jnp.where(supply > 0, 1, _share_of_a_trace(surface, slope, geometry))
    share = geometry.least_at_sensors(jnp.where(short, quotient(supply, jnp.where(short, demand, 1)), spare))
    refused = jnp.where(gained >= 0, (1 - share) * gained, 0)
    taken = jnp.where(gained >= 0, share * uptake, uptake)
    return jnp.concatenate([wanted[:1] + jnp.sum(refused, axis=0), wanted[1:] - refused]), taken


def _middle(c, theta, surface: Surface | Any, geometry: Geometry, dt) -> Float[Array, "K M *B"]:
    """Concentration at the sensors in the middle of a step, after half a step of adsorption at constant volume.

    Linearly implicit in the coverage and in the concentration, so that it is bounded at any stiffness:
    Δθ = ½Δt θ̇/(1 + ½Δt Λ) with Λ the rate at which θ̇ falls as the site fills and the gas empties.
    """
    rate, fall = surface.rate(theta, c), surface.relaxation(theta, c, geometry.at_sensors(geometry.volume[None])[0])
    filled = 0.5 * dt * rate / (1 + 0.5 * dt * fall)
    lost = geometry.at_sensors(geometry.on_cells(surface.sites * filled) / geometry.volume)
    c = c - lost
    return jnp.where(c < 0, 0, c)


def _share_of_a_trace(
    surface: Surface | Any, slope: Float[Array, "K M *B"], geometry: Geometry
) -> Float[Array, "K V *B"]:
    """Share of the sensors' demand that is met in the limit of a vanishing supply.

    A cell without an odorant limits nothing, but its first molecules would be limited: this gives the derivative at
    zero the slope of the limited sink. Otherwise each step multiplies the derivative by 1 − demand/supply, which
    overflows within a few steps.
    """
    per_mole = geometry.on_cells(surface.sites * slope) / geometry.volume
    return jax.lax.stop_gradient(1 / jnp.maximum(per_mole, 1))

r"""Sensor readout: monotone transduction of the coverage, then a first-order lag.

    r = Σ βᵢ θᵢ,   s* = b(T, H) + sign · g(r),   yⁿ⁺¹ = e^{−Δt/τ} yⁿ + (1 − e^{−Δt/τ}) s*

g rises with g(0) = 0; `sign` is −1 for a sensor whose signal falls (an oxidising gas on an n-type oxide). With
τ_recovery different from τ_rise the sensor rises and recovers at different speeds, as MOX sensors do. The
dimensionless group is Δt/τ. The lag is the exact solution for a target held over the step, a convex combination, so
the readout stays between its start and its targets and forgets its start.

    b(T, H) = b + b_T (T − 298.15 K) + b_H ln(H / 10 g m⁻³)
    gain(T, H) = gain · exp(g_T (T − 298.15 K) + g_H ln(H / 10 g m⁻³))

**Departure from the paper**: a fixed sign per sensor instead of g rising for all.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.conditions import Conditions

__all__ = ["Linear", "Logarithmic", "MonotoneSpline", "PowerLaw", "Readout", "Sips", "follow", "read", "target"]


class Linear(eqx.Module):
    """g(r) = r."""

    def __call__(self, r: Float[Array, "M *B"]) -> Float[Array, "M *B"]:
        """Transduce."""
        return r


class Logarithmic(eqx.Module):
    """g(r) = ln(1 + k r)/k, the Temkin-like response; k → 0 is linear."""

    k: Float[Array, "M *#b"]

    def __call__(self, r: Float[Array, "M *B"]) -> Float[Array, "M *B"]:
        """Transduce."""
        return jnp.log1p(self.k * r) / self.k


class PowerLaw(eqx.Module):
    """g(r) = (1 + k r)ⁿ − 1: the data-sheet power law, offset by clean air so that its slope at zero is finite."""

    k: Float[Array, "M *#b"]
    n: Float[Array, "M *#b"]

    def __call__(self, r: Float[Array, "M *B"]) -> Float[Array, "M *B"]:
        """Transduce."""
        return jnp.expm1(self.n * jnp.log1p(self.k * r))


class Sips(eqx.Module):
    """g(r) = S(k(r + r₀)) − S(k r₀), S(u) = uⁿ/(1 + uⁿ): saturating; r₀ > 0 is the background of clean air."""

    k: Float[Array, "M *#b"]
    n: Float[Array, "M *#b"]
    r0: Float[Array, "M *#b"]

    def __call__(self, r: Float[Array, "M *B"]) -> Float[Array, "M *B"]:
        """Transduce."""
        return jax.nn.sigmoid(self.n * jnp.log(self.k * (r + self.r0))) - jax.nn.sigmoid(
            self.n * jnp.log(self.k * self.r0)
        )


class MonotoneSpline(eqx.Module):
    """g with a piecewise-linear, non-negative slope: quadratic pieces, straight beyond the last knot."""

    knots: Float[Array, " n"]
    """Increasing positions of r, the first of them 0; the same for all samples."""
    slopes: Float[Array, "n M *#b"]
    """Slope of g at each knot, not negative."""

    def __call__(self, r: Float[Array, "M *B"]) -> Float[Array, "M *B"]:
        """Transduce."""
        knots = self.knots.reshape(-1, *(1,) * r.ndim)
        lo, hi = knots[:-1], knots[1:]
        inside = jnp.clip(r, lo, hi) - lo
        bend = (self.slopes[1:] - self.slopes[:-1]) / (hi - lo)
        pieces = inside * (self.slopes[:-1] + 0.5 * bend * inside)
        beyond = jnp.maximum(r - self.knots[-1], 0) * self.slopes[-1]
        return jnp.sum(pieces, axis=0) + beyond + jnp.minimum(r, 0) * self.slopes[0]


class Readout(eqx.Module):
    """Transduction and lag of M sensors."""

    beta: Float[Array, "K M *#b"]
    """Sensitivity to the coverage by each odorant, not negative, in units of the readout."""
    g: Linear | Logarithmic | PowerLaw | Sips | MonotoneSpline
    gain: Float[Array, "M *#b"]
    """Factor on g, positive."""
    sign: Float[Array, "M *#b"]
    """+1 or −1."""
    baseline: Float[Array, "M *#b"]
    """b at 298.15 K and 10 g/m³."""
    tau_rise: Float[Array, "M *#b"]
    """Lag while the signal moves away from its baseline [s]."""
    tau_recovery: Float[Array, "M *#b"]
    """Lag while it returns [s]; equal to tau_rise for the paper's readout."""
    baseline_slopes: Float[Array, "2 M *#b"]
    """b_T [1/K] and b_H [–]."""
    gain_slopes: Float[Array, "2 M *#b"]
    """g_T [1/K] and g_H [–]."""


def target(theta: Float[Array, "S M *B"], readout: Readout, conditions: Conditions) -> Float[Array, "M *B"]:
    """s* = b(T, H) + sign · gain(T, H) · g(Σ β θ), the signal that a steady surface would give."""
    warmth, moisture = conditions.warmth, conditions.moisture

    def climate(slopes):
        return slopes[0] * warmth + slopes[1] * moisture

    r = jnp.sum(readout.beta * theta[1:], axis=0)
    gain = readout.gain * jnp.exp(climate(readout.gain_slopes))
    return readout.baseline + climate(readout.baseline_slopes) + readout.sign * gain * readout.g(r)


def read(
    y: Float[Array, "M *B"],
    theta: Float[Array, "S M *B"],
    readout: Readout,
    conditions: Conditions,
    dt: Float[Array, ""],
) -> Float[Array, "M *B"]:
    """Readout after a step: y relaxes towards its target with the lag of the direction in which it moves."""
    goal = target(theta, readout, conditions)
    tau = lag(y, goal, readout)
    return y - jnp.expm1(-dt / tau) * (goal - y)


def lag(y: Float[Array, "M *B"], goal: Float[Array, "M *B"], readout: Readout) -> Float[Array, "M *B"]:
    """τ [s] of the direction in which y moves towards its goal."""
    return jnp.where(readout.sign * (goal - y) >= 0, readout.tau_rise, readout.tau_recovery)


def follow(
    y: Float[Array, "M *B"], goals: tuple[Array, Array, Array], readout: Readout, dt: Float[Array, ""]
) -> Float[Array, "M *B"]:
    r"""Readout after a step whose target is the parabola through its values at the start, the middle and the end.

    The exact solution of τẏ = p(t) − y,  y(Δt) = q(Δt) + e^{−Δt/τ}(y − q(0)),  q = p − τp′ + τ²p″,  written as weights
    of the three targets, which stay accurate where Δt/τ is small.
    """
    start, middle, end = goals
    tau = lag(y, middle, readout)
    h = dt / tau
    w1, w2 = _moments(h)
    # the parabola is start + t(4 middle − 3 start − end) + 2t²(start − 2 middle + end), 0 ≤ t ≤ 1
    slope, bend = 4 * middle - 3 * start - end, 2 * (start - 2 * middle + end)
    return y - jnp.expm1(-h) * (start - y) + w1 * slope + w2 * bend


def _moments(h: Float[Array, "M *B"]) -> tuple[Float[Array, "M *B"], Float[Array, "M *B"]]:
    """h ∫ e^{−h(1−t)} tᵏ dt over [0, 1] for k = 1, 2; by their series where the closed form would cancel."""
    small = h < 0.3
    near, far = jnp.where(small, h, 0), jnp.where(small, 1, h)
    w1 = 1 + jnp.expm1(-far) / far
    w2 = 1 - 2 * w1 / far
    series1, series2, power = jnp.zeros_like(h), jnp.zeros_like(h), jnp.ones_like(h)
    for j in range(1, 11):
        power = -power * near
        series1, series2 = series1 - power / math.factorial(j + 1), series2 - 2 * power / math.factorial(j + 2)
    return jnp.where(small, series1, w1), jnp.where(small, series2, w2)

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

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.conditions import Conditions

__all__ = ["Linear", "Logarithmic", "MonotoneSpline", "PowerLaw", "Readout", "Sips", "read", "target"]


class Linear(eqx.Module):
    """g(r) = r."""

    def __call__(self, r: Float[Array, " M"]) -> Float[Array, " M"]:
        """Transduce."""
        return r


class Logarithmic(eqx.Module):
    """g(r) = ln(1 + k r)/k, the Temkin-like response; k → 0 is linear."""

    k: Float[Array, " M"]

    def __call__(self, r: Float[Array, " M"]) -> Float[Array, " M"]:
        """Transduce."""
        return jnp.log1p(self.k * r) / self.k


class PowerLaw(eqx.Module):
    """g(r) = (1 + k r)ⁿ − 1: the data-sheet power law, offset by clean air so that its slope at zero is finite."""

    k: Float[Array, " M"]
    n: Float[Array, " M"]

    def __call__(self, r: Float[Array, " M"]) -> Float[Array, " M"]:
        """Transduce."""
        return jnp.expm1(self.n * jnp.log1p(self.k * r))


class Sips(eqx.Module):
    """g(r) = S(k(r + r₀)) − S(k r₀), S(u) = uⁿ/(1 + uⁿ): saturating; r₀ > 0 is the background of clean air."""

    k: Float[Array, " M"]
    n: Float[Array, " M"]
    r0: Float[Array, " M"]

    def __call__(self, r: Float[Array, " M"]) -> Float[Array, " M"]:
        """Transduce."""
        return jax.nn.sigmoid(self.n * jnp.log(self.k * (r + self.r0))) - jax.nn.sigmoid(
            self.n * jnp.log(self.k * self.r0)
        )


class MonotoneSpline(eqx.Module):
    """g with a piecewise-linear, non-negative slope: quadratic pieces, straight beyond the last knot."""

    knots: Float[Array, " n"]
    """Increasing positions of r, the first of them 0."""
    slopes: Float[Array, "M n"]
    """Slope of g at each knot, not negative."""

    def __call__(self, r: Float[Array, " M"]) -> Float[Array, " M"]:
        """Transduce."""
        lo, hi = self.knots[:-1], self.knots[1:]
        inside = jnp.clip(r[:, None], lo, hi) - lo
        bend = (self.slopes[:, 1:] - self.slopes[:, :-1]) / (hi - lo)
        pieces = inside * (self.slopes[:, :-1] + 0.5 * bend * inside)
        beyond = jnp.maximum(r - self.knots[-1], 0) * self.slopes[:, -1]
        return jnp.sum(pieces, axis=1) + beyond + jnp.minimum(r, 0) * self.slopes[:, 0]


class Readout(eqx.Module):
    """Transduction and lag of M sensors."""

    beta: Float[Array, "M K"]
    """Sensitivity to the coverage by each odorant, not negative, in units of the readout."""
    g: Linear | Logarithmic | PowerLaw | Sips | MonotoneSpline
    gain: Float[Array, " M"]
    """Factor on g, positive."""
    sign: Float[Array, " M"]
    """+1 or −1."""
    baseline: Float[Array, " M"]
    """b at 298.15 K and 10 g/m³."""
    tau_rise: Float[Array, " M"]
    """Lag while the signal moves away from its baseline [s]."""
    tau_recovery: Float[Array, " M"]
    """Lag while it returns [s]; equal to tau_rise for the paper's readout."""
    baseline_slopes: Float[Array, "M 2"]
    """b_T [1/K] and b_H [–]."""
    gain_slopes: Float[Array, "M 2"]
    """g_T [1/K] and g_H [–]."""


def target(theta: Float[Array, "M S"], readout: Readout, conditions: Conditions) -> Float[Array, " M"]:
    """s* = b(T, H) + sign · gain(T, H) · g(Σ β θ), the signal that a steady surface would give."""
    climate = jnp.stack([conditions.warmth, conditions.moisture])
    r = jnp.sum(readout.beta * theta[:, 1:], axis=1)
    gain = readout.gain * jnp.exp(readout.gain_slopes @ climate)
    return readout.baseline + readout.baseline_slopes @ climate + readout.sign * gain * readout.g(r)


def read(
    y: Float[Array, " M"],
    theta: Float[Array, "M S"],
    readout: Readout,
    conditions: Conditions,
    dt: Float[Array, ""],
) -> Float[Array, " M"]:
    """Readout after a step: y relaxes towards its target with the lag of the direction in which it moves."""
    goal = target(theta, readout, conditions)
    rising = readout.sign * (goal - y) >= 0
    tau = jnp.where(rising, readout.tau_rise, readout.tau_recovery)
    return y - jnp.expm1(-dt / tau) * (goal - y)

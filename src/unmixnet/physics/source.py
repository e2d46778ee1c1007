r"""Source-conditioned injection: what an odour source releases into which cell.

    q_{v,i}(t) = z_i a_i α_i ρ_i(t; T, H) p_src(v),        N ← N + Δt q̄

ρ is a release profile [1/s], z_i a_i α_i the moles that it scales (`amount`), p_src a distribution over cells.
The published profile rises and decays and has integral one over the recording:

    ρ(t) = (1 − e^{−t/τ_rise}) e^{−t/τ_decay} / ∫₀^{T_max} (…) ds.

**Departure from the paper**: each step injects the *mean* of ρ over [t, t + Δt] rather than ρ(t), so that the
released moles add up to `amount` whatever the step; and the closed-form integral needs no ε.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.conditions import GAS_CONSTANT, Conditions

__all__ = ["Constant", "RiseDecay", "Source", "Tabulated", "inject", "injected", "source_weights"]


class RiseDecay(eqx.Module):
    """Normalised rise–decay release; one pair of time constants per odorant."""

    tau_rise: Float[Array, "K *#b"]
    tau_decay: Float[Array, "K *#b"]
    t_max: Float[Array, "*#b"]
    """Length of the recording T_max [s], over which the profile integrates to one."""

    def released(self, t: Float[Array, ""], dt: Float[Array, ""]) -> Float[Array, "K *#b"]:
        """Share of the amount that is released during [t, t + Δt]."""
        return self._integral(t, dt) / self._integral(jnp.zeros_like(t), self.t_max)

    def _integral(self, t: Float[Array, ""], dt: Float[Array, "*#b"]) -> Float[Array, "K *#b"]:
        # Not a difference of two integrals from zero: long after the release that would be rounding of either sign.
        t, dt = jnp.maximum(t, 0), _after_zero(t, dt)
        tau_both = self.tau_rise * self.tau_decay / (self.tau_rise + self.tau_decay)
        decay = -self.tau_decay * jnp.exp(-t / self.tau_decay) * jnp.expm1(-dt / self.tau_decay)
        return jnp.maximum(decay + tau_both * jnp.exp(-t / tau_both) * jnp.expm1(-dt / tau_both), 0)


class Constant(eqx.Module):
    """Constant release from t = 0: `amount` is then a rate [mol/s]."""

    def released(self, t: Float[Array, ""], dt: Float[Array, ""]) -> Float[Array, ""]:
        """Seconds of release during [t, t + Δt]."""
        return _after_zero(t, dt)


class Tabulated(eqx.Module):
    """Piecewise-linear profile through (times, rates) [s, 1/s]; zero before and after the table."""

    times: Float[Array, " n"]
    """The same for all samples."""
    rates: Float[Array, "n K *#b"]

    def released(self, t: Float[Array, ""], dt: Float[Array, ""]) -> Float[Array, "K *#b"]:
        """Integral of the table over [t, t + Δt]."""
        times = self.times.reshape(-1, *(1,) * (self.rates.ndim - 1))
        lo, hi = times[:-1], times[1:]
        since, until = jnp.clip(t, lo, hi), jnp.clip(t + dt, lo, hi)
        part = (0.5 * (since + until) - lo) / (hi - lo)
        return jnp.sum((until - since) * ((1 - part) * self.rates[:-1] + part * self.rates[1:]), axis=0)


def _after_zero(t: Float[Array, ""], dt: Float[Array, "*#b"]) -> Float[Array, "*#b"]:
    """How much of [t, t + Δt] lies after t = 0, when a release starts."""
    return jnp.maximum(dt + jnp.minimum(t, 0), 0)


class Source(eqx.Module):
    """An odour source: how much of each odorant, when, and where."""

    amount: Float[Array, "K *#b"]
    """z_i a_i α_i: moles released over the recording [mol] (or [mol/s] for a constant release)."""
    profile: RiseDecay | Constant | Tabulated
    p_src: Float[Array, "V *#b"]
    """Distribution over cells; sums to one."""
    vaporisation: Float[Array, "K *#b"]
    """Enthalpy of vaporisation [J/mol] by which release grows with temperature; 0 switches it off."""
    humidity_slope: Float[Array, "K *#b"]
    """Change of ln(release) per unit of ln(H/H_ref); 0 switches it off."""


def source_weights(scores: Float[Array, " V"]) -> Float[Array, " V"]:
    """p_src from unnormalised weights, for a source whose place is inferred."""
    weights = jnp.exp(scores - jnp.max(scores))
    return weights / jnp.sum(weights)


def release(source: Source, conditions: Conditions, t: Float[Array, ""], dt: Float[Array, ""]) -> Float[Array, "K *#B"]:
    """Moles of each odorant that leave the source during [t, t + Δt]."""
    inverse_warmth = 1 / conditions.temperature - 1 / 298.15
    climate = jnp.exp(
        -source.vaporisation / GAS_CONSTANT * inverse_warmth + source.humidity_slope * conditions.moisture
    )
    return source.amount * climate * source.profile.released(t, dt)


def injected(
    source: Source, conditions: Conditions, t: Float[Array, ""], dt: Float[Array, ""]
) -> Float[Array, "S V *#B"]:
    """Moles that each cell gains during [t, t + Δt]; the carrier (index 0) is never released."""
    moles = release(source, conditions, t, dt)
    return jnp.concatenate([jnp.zeros_like(moles[:1]), moles])[:, None] * source.p_src


def inject(
    N: Float[Array, "S V *B"], source: Source, conditions: Conditions, t: Float[Array, ""], dt: Float[Array, ""]
) -> tuple[Float[Array, "S V *B"], Float[Array, "S V *#B"]]:
    """Moles after injection, and the moles injected."""
    gain = injected(source, conditions, t, dt)
    return N + gain, gain

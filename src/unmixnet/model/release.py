r"""Release coefficients: how much of each odorant a source of this mixture gives off, when and where.

    amount_i = ẑ_i â_i · strength · α_i,    τ_i = τ_ref e^{f(r_i)} · modulation

The sensors see only k_ads c: α_i and the column k_ads,·i can be exchanged without a trace changing. α is therefore
pulled towards one, and concentrations are known up to one factor per substance.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import N_CELL, Modulation, dense, from_zero
from unmixnet.model.settings import Settings, shape_of
from unmixnet.physics.source import Constant, RiseDecay, Source, source_weights

__all__ = ["Release"]

CONCENTRATION = 4e-3
"""Typical concentration in the chamber [mol/m³], about 100 ppm."""
TAU_RISE_S, TAU_DECAY_S = 5.0, 60.0


class Release(eqx.Module):
    """Sets the source."""

    coefficients: eqx.nn.Linear
    """From r_i to ln α_i, ln τ_rise, ln τ_decay."""
    modulation: Modulation
    place: eqx.nn.Linear
    """From cell features and h_Y to the score of a cell."""

    @classmethod
    def of(cls, settings: Settings, key: PRNGKeyArray) -> "Release":
        """Draw the networks."""
        shape = shape_of(settings.size)
        a, b, c = jax.random.split(key, 3)
        return cls(
            from_zero(eqx.nn.Linear(shape.embedding, 3, key=a)),
            Modulation.of(shape.width, 2, settings.modulation, b),
            from_zero(eqx.nn.Linear(N_CELL + shape.width, 1, key=c)),
        )

    def log_alpha(self, r: Float[Array, "K p"]) -> Float[Array, " K"]:
        """ln α, for the pull towards one."""
        return dense(self.coefficients, r)[:, 0]

    def __call__(
        self,
        shares: Float[Array, " K"],
        log_strength: Float[Array, ""],
        r: Float[Array, "K p"],
        h_Y: Float[Array, " d"],
        p_src: Float[Array, " V"],
        *,
        flow_m3_s: float,
        duration_s: float,
        constant: bool,
    ) -> Source:
        """The source of one sample; `shares` are ẑ_i â_i."""
        log_alpha, rise, decay = dense(self.coefficients, r).T
        rate = CONCENTRATION * flow_m3_s * shares * jnp.exp(log_strength + log_alpha)
        zero = jnp.zeros_like(shares)
        if constant:
            return Source(rate, Constant(), p_src, zero, zero)
        faster, longer = self.modulation(h_Y)
        tau_rise = TAU_RISE_S * jnp.exp(rise) * faster
        tau_decay = TAU_DECAY_S * jnp.exp(decay) * longer
        profile = RiseDecay(tau_rise, tau_decay, jnp.asarray(duration_s, shares.dtype))
        return Source(rate * duration_s, profile, p_src, zero, zero)

    def inferred_place(self, h_v: Float[Array, "V f"], h_Y: Float[Array, " d"]) -> Float[Array, " V"]:
        """p_src predicted from h_Y, for a source whose place is not known; it starts at the source cells."""
        scores = jax.vmap(lambda h: self.place(jnp.concatenate([h, h_Y]))[0])(h_v)
        return source_weights(scores + 3 * h_v[:, 0])

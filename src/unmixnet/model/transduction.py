r"""Readout coefficients: sensitivities β, gain, bend, lags and baseline of every sensor.

    β_{m,i} = exp(MLP(r_i, mat_m)),    s* = b + sign · gain · ln(1 + k r)/k,    r = Σ β θ

gain/k is the exponent n of the data-sheet power law, since the signal is a log-conductance. Gain, k, lags and baseline
belong to a sensor, times (plus, for the baseline) a bounded modulation by the sensor's token: a session's gain and
offset are nuisances that are inferred from every recording.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import Modulation, SensorSpecies
from unmixnet.model.settings import Settings, shape_of
from unmixnet.physics.readout import Linear, Logarithmic, Readout

__all__ = ["Transduction"]

TAU_S, RECOVERY = 3.0, 3.0
"""Typical lag [s], and how much slower a sensor recovers."""


class Transduction(eqx.Module):
    """Sets the readout."""

    pairs: SensorSpecies
    log_gain: Float[Array, " M"]
    log_k: Float[Array, " M"]
    log_tau: Float[Array, " M"]
    log_recovery: Float[Array, " M"]
    baseline: Float[Array, " M"]
    """Clean-air level, in the units of the signal."""
    modulation: Modulation
    offset: Modulation
    sign: tuple[float, ...] = eqx.field(static=True)
    linear: bool = eqx.field(static=True)

    @classmethod
    def of(
        cls, settings: Settings, air: Float[Array, " M"], sign: tuple[float, ...], key: PRNGKeyArray
    ) -> "Transduction":
        """Draw the networks; `air` is the signal in clean air, `sign` −1 for a sensor whose signal falls."""
        shape, M = shape_of(settings.size), len(sign)
        a, b, c = jax.random.split(key, 3)
        zero = jnp.zeros(M)
        return cls(
            SensorSpecies.of(shape.embedding, shape.hidden, 1, a),
            zero + 1.0,
            zero + 0.7,
            zero,
            zero,
            jnp.asarray(air),
            Modulation.of(shape.width, 3, settings.modulation, b),
            Modulation.of(shape.width, 1, settings.modulation, c),
            sign,
            settings.transduction == "linear",
        )

    def __call__(self, r: Float[Array, "K p"], mat: Float[Array, "M p"], h_m: Float[Array, "M d"]) -> Readout:
        """The readout of one sample."""
        gain, k, tau = self.modulation(h_m).T
        tau = TAU_S * jnp.exp(self.log_tau) * tau
        flat = jnp.zeros((2, gain.shape[0]), gain.dtype)
        return Readout(
            beta=jnp.exp(self.pairs(r, mat)[..., 0]),
            g=Linear() if self.linear else Logarithmic(jnp.exp(self.log_k) * k),
            gain=jnp.exp(self.log_gain) * gain,
            sign=jnp.asarray(self.sign, gain.dtype),
            baseline=self.baseline + self.offset.shift(h_m)[:, 0],
            tau_rise=tau,
            tau_recovery=tau * RECOVERY * jnp.exp(self.log_recovery),
            baseline_slopes=flat,
            gain_slopes=flat,
        )

r"""What a window holds, whenever it happened: statistics of compressed levels and changes of each sensor.

    v⁰ = f(y − air),    vˡ = f(y_t − y_{t−ℓ}),   ℓ = 1, 5, 25, 100 s,    f(x) = sign(x) ln(1 + 16 |x|)
    token = W (s − μ)/σ + b,    s = mean, deviation, least, most and last value of every v

Readings of cheap sensors have heavy tails: a few loud substances would be all that a network sees. Before the window a
trace is taken to have stood at its first value. air, μ and σ belong to the sensors at hand; training starts with those
of its recordings (`fitted`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["Statistics"]

LAGS_S = (1.0, 5.0, 25.0, 100.0)
_STEEP = 16.0
_FLOOR = 1e-6
N_STATISTICS = 5 * (1 + len(LAGS_S))


class Statistics(eqx.Module):
    """From M traces to M tokens, blind to when something happened."""

    W: eqx.nn.Linear
    air: Float[Array, " M"]
    mu: Float[Array, "M S"]
    sigma: Float[Array, "M S"]
    lags: tuple[int, ...] = eqx.field(static=True)
    """In samples."""

    @classmethod
    def of(cls, width: int, M: int, rate_Hz: float, key: PRNGKeyArray) -> "Statistics":
        """Draw the layer; the statistics are not standardised yet."""
        flat = jnp.zeros((M, N_STATISTICS))
        lags = tuple(max(1, round(lag * rate_Hz)) for lag in LAGS_S)
        return cls(eqx.nn.Linear(N_STATISTICS, width, key=key), flat[:, 0], flat, flat + 1, lags)

    def __call__(self, Y: Float[Array, "T M"]) -> Float[Array, "M d"]:
        """Tokens of the sensors."""
        return jax.vmap(self.W)((self._found(Y) - self.mu) / self.sigma)

    def fitted(self, windows: Float[Array, "n T M"], air: Float[Array, " M"]) -> "Statistics":
        """Standardised by what the windows hold."""
        here = eqx.tree_at(lambda s: s.air, self, air)
        found = jax.lax.map(here._found, windows, batch_size=64)
        sigma = jnp.maximum(jnp.std(found, axis=0), _FLOOR)
        return eqx.tree_at(lambda s: (s.mu, s.sigma), here, (jnp.mean(found, axis=0), sigma))

    def _found(self, Y: Float[Array, "T M"]) -> Float[Array, "M S"]:
        """s of every sensor."""
        time = np.arange(Y.shape[0])
        v = _compressed(jnp.stack([Y - self.air, *(Y - Y[np.maximum(time - lag, 0)] for lag in self.lags)], axis=-1))
        deviation = jnp.sqrt(jnp.var(v, axis=0) + _FLOOR**2)
        s = jnp.stack([jnp.mean(v, axis=0), deviation, -jnp.max(-v, axis=0), jnp.max(v, axis=0), v[-1]], axis=-1)
        return s.reshape(s.shape[0], -1)


def _compressed(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """f(x)."""
    return jnp.sign(x) * jnp.log1p(_STEEP * jnp.abs(x))

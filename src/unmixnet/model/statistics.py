r"""A window summarised without regard to time: statistics of compressed levels and changes of each sensor.

    x⁰ = y − air,    xˡ = y_t − y_{t−ℓ},   ℓ = 1, 2, 5 … 200 s,    v = f(x) = sign(x) ln(1 + 16 |x|)
    s = mean, deviation, least, most and last value of every v, ln deviation of every x
    token_m = W_m [(s_m − μ_m)/σ_m]₃ + b_m

Readings of cheap sensors have heavy tails: without compression a few strong substances would dominate; [·]₃ clips at
three deviations. Before the window a trace is assumed constant at its first value. The layer is specific to its
sensors; air, μ and σ are those of the training recordings (`fitted`). They are not trained any further, which would
need gradients through every sample of a window.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["Statistics"]

LAGS_S = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 200.0)
_STEEP, _FAR = 16.0, 3.0
_FLOOR, _STILL = 1e-6, 1e-4
N_STATISTICS = 6 * (1 + len(LAGS_S))


class Statistics(eqx.Module):
    """From M traces to M tokens, independent of when something happened."""

    W: Float[Array, "M d S"]
    b: Float[Array, "M d"]
    air: Float[Array, " M"]
    mu: Float[Array, "M S"]
    sigma: Float[Array, "M S"]
    lags: tuple[int, ...] = eqx.field(static=True)
    """In samples."""

    @classmethod
    def of(cls, width: int, M: int, rate_Hz: float, key: PRNGKeyArray) -> "Statistics":
        """Draw a layer for each sensor; the statistics are not standardised yet."""
        flat, limit = jnp.zeros((M, N_STATISTICS)), N_STATISTICS**-0.5
        W = jax.random.uniform(key, (M, width, N_STATISTICS), minval=-limit, maxval=limit)
        lags = tuple(max(1, round(lag * rate_Hz)) for lag in LAGS_S)
        return cls(W, jnp.zeros((M, width)), flat[:, 0], flat, flat + 1, lags)

    def __call__(self, Y: Float[Array, "T M"]) -> Float[Array, "M d"]:
        """Tokens of the sensors."""
        mu, sigma = jax.lax.stop_gradient((self.mu, self.sigma))
        s = jnp.clip((self.statistics(Y) - mu) / sigma, -_FAR, _FAR)
        return jnp.einsum("mds,ms->md", self.W, s) + self.b

    def fitted(self, windows: Float[Array, "n T M"], air: Float[Array, " M"]) -> "Statistics":
        """The layer, standardised by the statistics of these windows."""
        here = eqx.tree_at(lambda s: s.air, self, air)
        values = jax.lax.map(here.statistics, windows, batch_size=64)
        sigma = jnp.maximum(jnp.std(values, axis=0), _FLOOR)
        return eqx.tree_at(lambda s: (s.mu, s.sigma), here, (jnp.mean(values, axis=0), sigma))

    def statistics(self, Y: Float[Array, "T M"]) -> Float[Array, "M S"]:
        """s of every sensor."""
        x = jnp.stack([Y - jax.lax.stop_gradient(self.air), *(Y - _earlier(Y, lag) for lag in self.lags)])
        v = jax.lax.optimization_barrier(_compressed(x))  # else XLA computes it again for each statistic
        kept = jnp.mean(v, axis=1), _deviation(v, _FLOOR), -jnp.max(-v, axis=1), jnp.max(v, axis=1), v[:, -1]
        s = jnp.stack([*kept, jnp.log(_deviation(x, _STILL))], axis=-1)
        return jnp.swapaxes(s, 0, 1).reshape(Y.shape[1], -1)


def _earlier(Y: Float[Array, "T M"], lag: int) -> Float[Array, "T M"]:
    """The trace delayed by so many samples."""
    before = jnp.broadcast_to(Y[0], (min(lag, len(Y)), Y.shape[1]))
    return jnp.concatenate([before, Y[: len(Y) - len(before)]])


def _deviation(x: Float[Array, "C T M"], least: float) -> Float[Array, "C M"]:
    """Over time."""
    return jnp.sqrt(jnp.var(x, axis=1) + least**2)


def _compressed(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """f(x)."""
    return jnp.sign(x) * jnp.log1p(_STEEP * jnp.abs(x))

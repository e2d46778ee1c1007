r"""Normalisation by window statistics: the absolute level is neither lost nor blindly trusted.

    x̃ = (1 + Δγ)(x − μ)/σ + Δβ,    (Δγ, Δβ) = W₂ GELU(W₁ [μ, ln σ])

μ and σ are of one window of one sensor, W₂ starts at zero (plain instance norm). What the normalisation takes away
enters the sensor's token beside the trace: μ, ln σ, first and last value, and waves of μ, from which a network can form
a sharp function of the level where sessions share it.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["LevelNorm", "level_features"]

_FLOOR = 0.05
"""Least σ, in standard deviations of the training signal: noise is not blown up to look like an answer."""
_WAVES = (1.0, 2.0, 4.0)
N_FEATURES = 4 + 2 * len(_WAVES)


def _statistics(y: Float[Array, " T"]) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, " T"]]:
    """μ, σ and y − μ, from differences to the first sample.

    The mean of a flat trace is rounded in units of its level, that of the differences in units of their spread.
    """
    step = y - y[0]
    shift = jnp.mean(step)
    centred = step - shift
    return y[0] + shift, jnp.sqrt(jnp.mean(centred**2) + _FLOOR**2), centred


def level_features(y: Float[Array, " T"]) -> Float[Array, " F"]:
    """What the normalisation removes from a window: its level, spread, ends, and waves of the level."""
    mu, sigma, _ = _statistics(y)
    waves = [f(w * mu) for w in _WAVES for f in (jnp.sin, jnp.cos)]
    return jnp.stack([mu, jnp.log(sigma), y[0], y[-1], *waves])


class LevelNorm(eqx.Module):
    """Instance norm whose scale and shift depend on the statistics that it removes."""

    W_1: eqx.nn.Linear
    W_2: eqx.nn.Linear

    @classmethod
    def of(cls, key: PRNGKeyArray) -> "LevelNorm":
        """Start as plain instance norm."""
        a, b = jax.random.split(key)
        W_2 = eqx.nn.Linear(32, 2, key=b)
        return cls(eqx.nn.Linear(2, 32, key=a), jax.tree.map(jnp.zeros_like, W_2))

    def __call__(self, y: Float[Array, " T"]) -> Float[Array, " T"]:
        """Normalise one trace."""
        mu, sigma, centred = _statistics(y)
        gamma, beta = self.W_2(jax.nn.gelu(self.W_1(jnp.stack([mu, jnp.log(sigma)]))))
        return (1 + gamma) * centred / sigma + beta

r"""Temporal–sensor trunk: the trace of each sensor becomes a token, in the context of the other sensors.

A trace is cut into patches; within a sensor the patches attend to each other, across sensors every patch gets the
mean of all sensors at its time; then each sensor pools its patches. All weights are shared between sensors, so any
number of them is allowed.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import CrossAttention, dense, norm
from unmixnet.model.settings import Shape

__all__ = ["LAGS_S", "LevelNorm", "Trunk", "Views", "level_features"]


class Block(eqx.Module):
    """Add the mean of all sensors, then attend along time within each sensor."""

    time: CrossAttention
    C: eqx.nn.Linear
    """From the mean over sensors to every sensor."""

    @classmethod
    def of(cls, shape: Shape, key: PRNGKeyArray) -> "Block":
        """Draw the layers."""
        a, b = jax.random.split(key)
        return cls(CrossAttention.of(shape.width, shape.heads, a), eqx.nn.Linear(shape.width, shape.width, key=b))

    def __call__(self, X: Float[Array, "M P d"]) -> Float[Array, "M P d"]:
        """Patches of all sensors after the block."""
        X = X + dense(self.C, norm(jnp.mean(X, axis=0)))
        return self.time(X, X)


class Trunk(eqx.Module):
    """From views of M traces to M tokens."""

    patch: eqx.nn.Linear
    blocks: tuple[Block, ...]
    pool: eqx.nn.Linear
    """Weight of a patch when its sensor pools."""
    rows: int = eqx.field(static=True)
    """Samples in a patch."""

    @classmethod
    def of(cls, shape: Shape, views: int, rows: int, key: PRNGKeyArray) -> "Trunk":
        """Draw the layers, for patches of so many rows and views."""
        a, b, *rest = jax.random.split(key, 2 + shape.blocks)
        patch = eqx.nn.Linear(views * rows, shape.width, key=a)
        return cls(patch, tuple(Block.of(shape, k) for k in rest), eqx.nn.Linear(shape.width, 1, key=b), rows)

    def __call__(self, X: Float[Array, "M T C"]) -> Float[Array, "M d"]:
        """Tokens of the sensors; a rest shorter than a patch, at the start of the window, is left out."""
        M, T, C = X.shape
        count = T // self.rows
        patches = X[:, T - count * self.rows :].reshape(M, count, self.rows * C)
        H = dense(self.patch, patches)
        H = H + _waves(count, H.shape[-1])
        for block in self.blocks:
            H = block(H)
        weight = jax.nn.softmax(dense(self.pool, norm(H)), axis=1)
        return jnp.sum(weight * H, axis=1)


def _waves(count: int, width: int) -> np.ndarray:
    """Place of each patch in the window, as sines and cosines of falling frequency."""
    frequency = 10_000.0 ** (-np.arange(width // 2) / (width // 2))
    angle = np.arange(count)[:, None] * frequency
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


LAGS_S = (1.0, 2.0, 5.0, 10.0)
_AVERAGE_S = 5.0


class Views(eqx.Module):
    """Filters for traces of one sampling rate."""

    W_LP: Float[Array, " L"]
    """Logarithms of the low-pass weights before they are normalised."""
    W_HP: Float[Array, "R L"]
    """High-pass weights before their mean is taken off."""

    @classmethod
    def of(cls, rate_Hz: float) -> "Views":
        """Filters at their start; entry ℓ of a filter weighs the sample ℓ steps ago."""
        lags = [max(1, round(lag * rate_Hz)) for lag in LAGS_S]
        length = max(lags) + 1
        low = np.full(length, -4.0)
        low[: max(1, round(_AVERAGE_S * rate_Hz))] = 0
        high = np.zeros((len(lags), length))
        high[:, 0] = 1
        high[np.arange(len(lags)), lags] = -1
        return cls(jnp.asarray(low, float), jnp.asarray(high, float))

    @property
    def count(self) -> int:
        """Number of views."""
        return 2 + self.W_HP.shape[0]

    def __call__(self, y: Float[Array, " T"]) -> Float[Array, "T C"]:
        """All views of one trace."""
        low = jax.nn.softmax(self.W_LP)
        high = self.W_HP - jnp.mean(self.W_HP, axis=1, keepdims=True)
        filters = jnp.concatenate([low[None], high])
        steps = np.arange(y.shape[0])[:, None] - np.arange(filters.shape[1])
        past = y[np.maximum(steps, 0)]
        return jnp.concatenate([y[:, None], past @ filters.T], axis=1)


_FLOOR = 0.05
"""Least σ, in standard deviations of the training signal: noise is not amplified into a signal."""
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

r"""Virtual recordings: traces that the model's own solver makes for mixtures nobody recorded.

Random supports, ratios and strengths, random session gains and offsets, noise of the sensors. The encoder learns from
them what the calibrated physics implies about unseen mixtures; no gradient flows back into the physics.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.unmixnet import UnMixNet

__all__ = ["Nuisance", "Virtual", "random_ratios", "virtual_batch"]


@dataclass(frozen=True)
class Nuisance:
    """How recordings of one mixture differ, as standard deviations."""

    gain: float = 0.1
    """Of the logarithm of a sensor's gain."""
    offset: float = 0.0
    """Of a sensor's level, in standard deviations of the training signal."""
    strength: float = 0.25
    """Of the logarithm of the overall strength."""
    noise: float = 0.02
    """Of a sample, in standard deviations of the training signal."""


class Virtual(eqx.Module):
    """A recording that nobody made, and everything that is true of it."""

    Y: Float[Array, "*B T M"]
    a: Float[Array, "*B K"]
    log_strength: Float[Array, "*B"]
    log_gain: Float[Array, "*B M"]


def random_ratios(K: int, largest: int, key: PRNGKeyArray) -> Float[Array, " K"]:
    """One to `largest` substances, all numbers of them equally likely, shares uniform on their simplex."""
    one, two, three = jax.random.split(key, 3)
    count = jax.random.randint(one, (), 1, min(largest, K) + 1)
    rank = jnp.argsort(jnp.argsort(jax.random.uniform(two, (K,))))
    parts = jnp.where(rank < count, jax.random.exponential(three, (K,)) + 1e-3, 0)
    return parts / jnp.sum(parts)


def virtual_batch(
    model: UnMixNet,
    B: int,
    T: int,
    nuisance: Nuisance,
    key: PRNGKeyArray,
    *,
    residuals: Float[Array, "n steps M"] | None = None,
    largest: int = 3,
) -> "Virtual":
    """B virtual recordings.

    Each carries what the physics could not say about some training recording, where such residuals are given.
    """
    model = jax.lax.stop_gradient(model)
    return jax.vmap(lambda k: _one(model, T, nuisance, residuals, largest, k))(jax.random.split(key, B))


def _one(
    model: UnMixNet,
    T: int,
    nuisance: Nuisance,
    residuals: Float[Array, "n steps M"] | None,
    largest: int,
    key: PRNGKeyArray,
) -> "Virtual":
    K, M = model.species.shape[0] - 1, model.materials.shape[0]
    keys = jax.random.split(key, 7)
    a = random_ratios(K, largest, keys[0])
    log_strength = nuisance.strength * jax.random.normal(keys[1], ())
    exposure = jax.random.uniform(keys[2], ())
    typical = eqx.tree_at(lambda i: (i.log_strength, i.exposure), model.uninformed(), (log_strength, exposure))
    air, stride = model.transduction.baseline, model.settings.stride
    solved = model.reconstruct(typical, None, T, shares=a)
    made = solved.y
    if residuals is not None and residuals.shape[0]:
        made = made + residuals[jax.random.randint(keys[6], (), 0, residuals.shape[0])]
    y = jnp.concatenate([solved.start.y[None], made])
    times = jnp.arange(T) / stride
    y = jax.vmap(lambda column: jnp.interp(times, jnp.arange(y.shape[0]), column), 1, 1)(y)
    log_gain = nuisance.gain * jax.random.normal(keys[3], (M,))
    offset = nuisance.offset * jax.random.normal(keys[4], (M,))
    y = air + jnp.exp(log_gain) * (y - air) + offset + nuisance.noise * jax.random.normal(keys[5], (T, M))
    return Virtual(y, a, log_strength, log_gain)

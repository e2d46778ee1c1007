r"""Virtual recordings: traces that the model's own solver makes for mixtures nobody recorded.

Random supports, ratios and strengths, random session gains and offsets, noise of the sensors. What calibration could
not explain about each substance is added in proportion to its share,

    Y = Ŷ(a) + Σ_i a_i ΔY_i,    ΔY_i = Y − Ŷ of a recording in which i is plentiful,

so that the physics only has to be right about how substances act together, not about each of them alone. The encoder
learns from them what the calibrated physics implies about unseen mixtures. They are solved once, into a bank, after
calibration, so no gradient flows back into the physics.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from unmixnet.model.unmixnet import UnMixNet

__all__ = ["Bank", "Leftover", "Nuisance", "Virtual", "bank_of", "random_ratios", "virtual_batch"]


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


class Leftover(eqx.Module):
    """What calibration left of each training recording, and the ratios of that recording; n may be zero."""

    values: Float[Array, "n steps M"]
    ratios: Float[Array, "n K"]

    def of(self, a: Float[Array, " K"], key: PRNGKeyArray) -> Float[Array, "steps M"] | Float[Array, ""]:
        """Σ a_i ΔY_i; for every substance one recording is drawn, with probability ∝ its squared share there."""
        if self.values.shape[0] == 0:
            return jnp.zeros(())
        which = jax.random.categorical(key, 2 * jnp.log(self.ratios.T + 1e-6))
        return jnp.tensordot(a, self.values[which], axes=1)


class Bank(eqx.Module):
    """Traces of the solver for mixtures nobody recorded; sessions and noise are added when one is drawn.

    Arguments:
        y: at the start and after each step of the solver.
        air: the signal in clean air.
        stride: samples in a step.
    """

    y: Float[Array, "n steps M"]
    a: Float[Array, "n K"]
    log_strength: Float[Array, " n"]
    leftover: Leftover
    air: Float[Array, " M"]
    stride: int = eqx.field(static=True)

    def __len__(self) -> int:
        """Mixtures in it."""
        return self.a.shape[0]


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


def bank_of(
    model: UnMixNet, n: int, T: int, nuisance: Nuisance, key: PRNGKeyArray, *, leftover: Leftover, largest: int = 3
) -> Bank:
    """Solve n mixtures nobody recorded, by the global coefficients."""
    model = jax.lax.stop_gradient(model)

    def one(key: PRNGKeyArray) -> tuple[Array, Array, Array]:
        keys = jax.random.split(key, 3)
        a = random_ratios(model.species.shape[0] - 1, largest, keys[0])
        log_strength = nuisance.strength * jax.random.normal(keys[1], ())
        exposure = jax.random.uniform(keys[2], ())
        typical = eqx.tree_at(lambda i: (i.log_strength, i.exposure), model.uninformed(), (log_strength, exposure))
        solved = model.reconstruct(typical, None, T, shares=a)
        return jnp.concatenate([solved.start.y[None], solved.y]), a, log_strength

    y, a, log_strength = jax.lax.map(one, jax.random.split(key, n), batch_size=64)
    return Bank(y, a, log_strength, leftover, model.transduction.baseline, model.settings.stride)


def virtual_batch(bank: Bank, B: int, T: int, nuisance: Nuisance, key: PRNGKeyArray) -> Virtual:
    """B recordings out of the bank, each in a session of its own."""
    one, two = jax.random.split(key)
    rows = jax.random.randint(one, (B,), 0, len(bank))
    return jax.vmap(lambda row, key: _recorded(bank, row, T, nuisance, key))(rows, jax.random.split(two, B))


def _recorded(bank: Bank, row: Int[Array, ""], T: int, nuisance: Nuisance, key: PRNGKeyArray) -> Virtual:
    y, a, air = bank.y[row], bank.a[row], bank.air
    M, keys = air.shape[0], jax.random.split(key, 4)
    y = y.at[1:].add(bank.leftover.of(a, keys[0]))
    times = jnp.arange(T) / bank.stride
    y = jax.vmap(lambda column: jnp.interp(times, jnp.arange(y.shape[0]), column), 1, 1)(y)
    log_gain = nuisance.gain * jax.random.normal(keys[1], (M,))
    offset = nuisance.offset * jax.random.normal(keys[2], (M,))
    y = air + jnp.exp(log_gain) * (y - air) + offset + nuisance.noise * jax.random.normal(keys[3], (T, M))
    return Virtual(y, a, bank.log_strength[row], log_gain)

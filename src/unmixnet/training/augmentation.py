r"""Synthetic training data: mixtures of two recordings, and virtual recordings made by the solver.

Two recordings are combined through competitive adsorption and readout,

    L_i = (G_i/G_0)^{1/n} − 1,    L = Σ w_i L_i,    G = G_0 (1 + L)^n

G is conductance, so ln(G/G_0) is the signal over clean air; L is the load that a substance puts on the surface (the
extended Langmuir isotherm with a power-law readout), n the exponent of the sensor. Loads add, signals do not: two whole
recordings together give less than the sum of their signals, and shares w of them that sum to one more than the mean of
their signals, Σ w s ≤ n ln Σ w e^{s/n} ≤ max s. The session's gain and offset act on the mixed signal.

Virtual recordings have random supports, ratios and strengths, random session gains and offsets, noise of the sensors.
What calibration could not explain about each substance is added in proportion to its share,

    Y = Ŷ(a) + Σ_i a_i ΔY_i,    ΔY_i = Y − Ŷ of a recording in which i is plentiful,

so that the physics only has to be right about how substances act together, not about each of them alone. The encoder
learns from them what the calibrated physics implies about unseen mixtures. They are solved once, into a bank, after
calibration, so no gradient flows back into the physics.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from unmixnet.model.unmixnet import UnMixNet

__all__ = [
    "Bank",
    "Leftover",
    "NuisanceSpread",
    "Virtual",
    "bank_of",
    "combined",
    "mixed_batch",
    "random_ratios",
    "virtual_batch",
    "with_session",
]


def combined(
    excess: Float[Array, "p T M"], weights: Float[Array, " p"], n: float | Float[Array, " M"]
) -> Float[Array, "T M"]:
    """ln(G/G_0) of a mixture from those of its parts; a signal under clean air counts as no load."""
    load = jnp.tensordot(weights, jnp.expm1(jnp.maximum(excess, 0) / n), axes=1)
    under = jnp.tensordot(weights, jnp.minimum(excess, 0), axes=1)
    return n * jnp.log1p(load) + under


def with_session(
    Y: Float[Array, "T M"], air: Float[Array, " M"], gain: float, offset: float, key: PRNGKeyArray
) -> Float[Array, "T M"]:
    """The trace as another session would have recorded it: random gain (log sd) and offset (sd) of every sensor."""
    a, b = jax.random.split(key)
    factor = jnp.exp(gain * jax.random.normal(a, air.shape))
    return air + factor * (Y - air) + offset * jax.random.normal(b, air.shape)


def mixed_batch(
    Y: Float[Array, "B T M"],
    a: Float[Array, "B K"],
    *,
    share: float,
    linear: bool,
    air: Float[Array, " M"],
    sd: Float[Array, " M"],
    sign: Float[Array, " M"],
    n: float,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "B T M"], Float[Array, "B K"]]:
    """Replace a share of a batch by mixtures with random partners; traces are standardised by sd, air is their zero."""
    key_1, key_2, key_3 = jax.random.split(key, 3)
    B = Y.shape[0]
    partner = jax.random.permutation(key_1, B)
    w = jax.random.uniform(key_2, (B,), minval=0.2, maxval=0.8)
    chosen = jax.random.uniform(key_3, (B,)) < share

    def mix(y, other, w):
        pair = sign * (jnp.stack([y, other]) - air) * sd
        weights = jnp.stack([w, 1 - w])
        whole = jnp.tensordot(weights, pair, axes=1) if linear else combined(pair, weights, n)
        return air + sign * whole / sd

    mixed = jax.vmap(mix)(Y, Y[partner], w)
    label = w[:, None] * a + (1 - w[:, None]) * a[partner]
    return jnp.where(chosen[:, None, None], mixed, Y), jnp.where(chosen[:, None], label, a)


@dataclass(frozen=True)
class NuisanceSpread:
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
    """Calibration residual of each training recording, and its ratios; n may be zero."""

    values: Float[Array, "n steps M"]
    ratios: Float[Array, "n K"]

    def of(self, a: Float[Array, " K"], key: PRNGKeyArray) -> Float[Array, "steps M"] | Float[Array, ""]:
        """Σ a_i ΔY_i; for every substance one recording is drawn, with probability ∝ its squared share there."""
        if self.values.shape[0] == 0:
            return jnp.zeros(())
        which = jax.random.categorical(key, 2 * jnp.log(self.ratios.T + 1e-6))
        return jnp.tensordot(a, self.values[which], axes=1)


class Bank(eqx.Module):
    """Traces of the solver for random mixtures; sessions and noise are added when one is drawn.

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
    """Virtual recordings with their true ratios, strengths and gains."""

    Y: Float[Array, "*B T M"]
    a: Float[Array, "*B K"]
    log_strength: Float[Array, "*B"]
    log_gain: Float[Array, "*B M"]


def random_ratios(K: int, largest: int, key: PRNGKeyArray) -> Float[Array, " K"]:
    """One to `largest` substances, all numbers of them equally likely, shares uniform on their simplex."""
    key_1, key_2, key_3 = jax.random.split(key, 3)
    count = jax.random.randint(key_1, (), 1, min(largest, K) + 1)
    rank = jnp.argsort(jnp.argsort(jax.random.uniform(key_2, (K,))))
    parts = jnp.where(rank < count, jax.random.exponential(key_3, (K,)) + 1e-3, 0)
    return parts / jnp.sum(parts)


_SOLVED = 64
"""Mixtures that are solved at once."""


def bank_of(
    model: UnMixNet,
    n: int,
    T: int,
    nuisance: NuisanceSpread,
    key: PRNGKeyArray,
    *,
    leftover: Leftover,
    largest: int = 3,
) -> Bank:
    """Solve n random mixtures with the global coefficients."""
    model = jax.lax.stop_gradient(model)

    def drawn(key: PRNGKeyArray) -> tuple[Array, Array, Array]:
        keys = jax.random.split(key, 3)
        a = random_ratios(model.species.shape[0] - 1, largest, keys[0])
        return a, nuisance.strength * jax.random.normal(keys[1], ()), jax.random.uniform(keys[2], ())

    def solved(mixtures: tuple[Array, Array, Array]) -> Float[Array, "B steps M"]:
        a, log_strength, exposure = mixtures
        typical = eqx.tree_at(lambda i: (i.log_strength, i.exposure), model.uninformed(), (log_strength, exposure))
        run = model.reconstruct_all(typical, None, T, shares=a)
        return jnp.moveaxis(jnp.concatenate([run.start.y[None], run.y]), -1, 0)

    mixtures = jax.vmap(drawn)(jax.random.split(key, n))
    a, log_strength, _ = mixtures
    size = min(n, _SOLVED)
    rows = np.arange(-(-n // size) * size) % n
    y = jax.lax.map(solved, jax.tree.map(lambda leaf: leaf[rows].reshape(-1, size, *leaf.shape[1:]), mixtures))
    y = y.reshape(-1, *y.shape[2:])[:n]
    return Bank(y, a, log_strength, leftover, model.transduction.baseline, model.settings.stride)


def virtual_batch(bank: Bank, B: int, T: int, nuisance: NuisanceSpread, key: PRNGKeyArray) -> Virtual:
    """B recordings out of the bank, each in a session of its own."""
    key_1, key_2 = jax.random.split(key)
    rows = jax.random.randint(key_1, (B,), 0, len(bank))
    return jax.vmap(lambda row, key: _recorded(bank, row, T, nuisance, key))(rows, jax.random.split(key_2, B))


def _recorded(bank: Bank, row: Int[Array, ""], T: int, nuisance: NuisanceSpread, key: PRNGKeyArray) -> Virtual:
    y, a, air = bank.y[row], bank.a[row], bank.air
    M, keys = air.shape[0], jax.random.split(key, 4)
    y = y.at[1:].add(bank.leftover.of(a, keys[0]))
    times = jnp.arange(T) / bank.stride
    y = jax.vmap(lambda column: jnp.interp(times, jnp.arange(y.shape[0]), column), 1, 1)(y)
    log_gain = nuisance.gain * jax.random.normal(keys[1], (M,))
    offset = nuisance.offset * jax.random.normal(keys[2], (M,))
    y = air + jnp.exp(log_gain) * (y - air) + offset + nuisance.noise * jax.random.normal(keys[3], (T, M))
    return Virtual(y, a, bank.log_strength[row], log_gain)

r"""Physics-made training mixtures: two recordings combined through competitive adsorption and readout.

    L_i = (G_i/G_0)^{1/n} − 1,    L = Σ w_i L_i,    G = G_0 (1 + L)^n

G is conductance, so ln(G/G_0) is the signal over clean air; L is the load that a substance puts on the surface (the
extended Langmuir isotherm with a power-law readout), n the exponent of the sensor. Loads add, signals do not: two whole
recordings together give less than the sum of their signals, and shares w of them that sum to one more than the mean of
their signals, Σ w s ≤ n ln Σ w e^{s/n} ≤ max s. The session's gain and offset act on the mixed signal.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

__all__ = ["combined", "mixed_batch", "with_session"]


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
    one, two, three = jax.random.split(key, 3)
    B = Y.shape[0]
    partner = jax.random.permutation(one, B)
    w = jax.random.uniform(two, (B,), minval=0.2, maxval=0.8)
    chosen = jax.random.uniform(three, (B,)) < share

    def mix(y, other, w):
        pair = sign * (jnp.stack([y, other]) - air) * sd
        weights = jnp.stack([w, 1 - w])
        whole = jnp.tensordot(weights, pair, axes=1) if linear else combined(pair, weights, n)
        return air + sign * whole / sd

    mixed = jax.vmap(mix)(Y, Y[partner], w)
    label = w[:, None] * a + (1 - w[:, None]) * a[partner]
    return jnp.where(chosen[:, None, None], mixed, Y), jnp.where(chosen[:, None], label, a)

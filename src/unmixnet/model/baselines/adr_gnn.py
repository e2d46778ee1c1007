r"""ADR-GNN, adapted: advection, diffusion and reaction of latent features on the complete graph of the sensors.

    u(t)  = W_s ȳ(t) + b_s + n          state of a node: mean ȳ of its last 10 samples; n is learned per sensor
    g     = W_g [y, y − y₋ₗ] + b_g + n  history of a node: its whole trace and its lag-25 difference
    z_ij  = A₃ ReLU(A₁ g_i + A₂ g_j),   V_{i→j} = softmax over j of A₄ ReLU(z_ij − z_ji), per channel
    advection   U' = (1 − h) U + h Σ_j V_{j→i} ⊙ u_j
    diffusion   U'' = (I + h κ L)⁻¹ U',   L = I − 11ᵀ/M,   κ = min(max(k, 0), 1) per channel
    reaction    U ← drop(U'' + h ReLU(R₁ U'' + tanh(R₂ U'') ⊙ U'' + R₃ g))
    logits = W [mean, max over nodes of U at the last step]

What a node sends is normalised over its receivers, Σ_j V_{i→j} = 1, so advection conserves the sum over nodes of
every channel; so does diffusion on this regular graph; reaction does not. Self-edges let a node keep its content. The
channels are latent features: there is no gas, no flux constraint and no competition for adsorption sites here, and
with sensors as nodes "advection" is learned mixing, not transport.

**Reference**: ADR-GNN, arXiv 2307.16092, in its spatio-temporal form: velocities come from the history, the
transported features from the state. No official code was found; the equations are those that two independent
re-implementations quote. Sizes (c = 64, e = 32, 4 layers, h = 0.25, dropout 0.1) are this project's.

**Departures**: sensors as nodes of a complete graph with self-edges; the diffusion is solved in closed form (the
Laplacian of this graph has only the eigenvalues 0 and 1); no time embedding, as windows carry no absolute
time; n identifies the sensors, which mean and max would not distinguish. A₃ and A₄ have no bias: the first would
cancel in z_ij − z_ji, the second in the softmax.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.baselines.interface import Baseline, Output, Size, check_window, drop, split

__all__ = ["ADRGNN", "Layer", "advect", "diffuse"]


class ADRGNNWidths(NamedTuple):
    """Channels, width of the edges, layers."""

    c: int
    e: int
    layers: int


WIDTHS: dict[Size, ADRGNNWidths] = {"small": ADRGNNWidths(32, 16, 4), "paper": ADRGNNWidths(64, 32, 4)}
STEP = 0.25
LAG = 25
RECENT = 10
DROPOUT = 0.1


def advect(U: Float[Array, "M c"], V: Float[Array, "M M c"], h: float) -> Float[Array, "M c"]:
    """(1 − h) u_i + h Σ_j V[j, i] u_j: every node sends the share h of its content along its outgoing weights."""
    return (1 - h) * U + h * jnp.einsum("jic,jc->ic", V, U)


def diffuse(U: Float[Array, "M c"], kappa: Float[Array, " c"], h: float) -> Float[Array, "M c"]:
    """(I + h κ L)⁻¹ U on the complete graph: the mean stays, deviations from it shrink by 1/(1 + h κ)."""
    mean = jnp.mean(U, axis=0)
    return mean + (U - mean) / (1 + h * kappa)


class Layer(eqx.Module):
    """One step of Lie splitting: advection, diffusion, reaction."""

    A_1: eqx.nn.Linear
    A_2: eqx.nn.Linear
    A_3: eqx.nn.Linear
    A_4: eqx.nn.Linear
    k: Float[Array, " c"]
    R_1: eqx.nn.Linear
    R_2: eqx.nn.Linear
    R_3: eqx.nn.Linear

    def __init__(self, c: int, e: int, *, key: PRNGKeyArray) -> None:
        keys = jax.random.split(key, 7)
        self.A_1 = eqx.nn.Linear(c, e, key=keys[0])
        self.A_2 = eqx.nn.Linear(c, e, use_bias=False, key=keys[1])
        self.A_3 = eqx.nn.Linear(e, e, use_bias=False, key=keys[2])
        self.A_4 = eqx.nn.Linear(e, c, use_bias=False, key=keys[3])
        self.k = jnp.full(c, 0.5)
        self.R_1 = eqx.nn.Linear(c, c, key=keys[4])
        self.R_2 = eqx.nn.Linear(c, c, key=keys[5])
        self.R_3 = eqx.nn.Linear(c, c, use_bias=False, key=keys[6])

    def velocity(self, g: Float[Array, "M c"]) -> Float[Array, "M M c"]:
        """Outgoing weights: V[i, j] from i to j, which sum to one over j."""
        pair = jax.vmap(self.A_1)(g)[:, None] + jax.vmap(self.A_2)(g)[None, :]
        z = jax.nn.relu(pair) @ self.A_3.weight.T
        logits = jax.nn.relu(z - jnp.swapaxes(z, 0, 1)) @ self.A_4.weight.T
        return jax.nn.softmax(logits, axis=1)

    def react(self, U: Float[Array, "M c"], g: Float[Array, "M c"]) -> Float[Array, "M c"]:
        """U + h ReLU(R₁ U + tanh(R₂ U) ⊙ U + R₃ g)."""
        R_1, R_2, R_3 = jax.vmap(self.R_1), jax.vmap(self.R_2), jax.vmap(self.R_3)
        return U + STEP * jax.nn.relu(R_1(U) + jnp.tanh(R_2(U)) * U + R_3(g))

    def __call__(
        self, U: Float[Array, "M c"], g: Float[Array, "M c"], V: Float[Array, "M M c"], *, key: PRNGKeyArray | None
    ) -> Float[Array, "M c"]:
        """State after the layer."""
        U = diffuse(advect(U, V, STEP), jnp.clip(self.k, 0, 1), STEP)
        return drop(self.react(U, g), DROPOUT, key)


def recent(Y: Float[Array, "T M"]) -> Float[Array, "T M"]:
    """Mean of the last `RECENT` samples up to each step, of fewer at the start."""
    T = Y.shape[0]
    padded = jnp.pad(Y, ((RECENT - 1, 0), (0, 0)))
    total = jnp.stack([padded[i : i + T] for i in range(RECENT)]).sum(axis=0)
    return total / jnp.minimum(jnp.arange(1, T + 1), RECENT)[:, None].astype(Y.dtype)


class ADRGNN(Baseline):
    """Advection–diffusion–reaction layers on the graph of the sensors.

    Arguments of a call:
        Y: T × M window of traces, with the T and M of `of`.
        key: draws dropout, the same at all time steps.
    """

    state: eqx.nn.Linear
    history: eqx.nn.Linear
    n: Float[Array, "M c"]
    layers: list[Layer]
    W: eqx.nn.Linear
    lag: int = eqx.field(static=True)

    @classmethod
    def of(cls, T: int, M: int, K: int, *, size: Size, key: PRNGKeyArray) -> "ADRGNN":
        """Draw a model for windows of exactly T steps of M sensors; the lag is at most half of T."""
        check_window(T, M, K, shortest=2)
        n = WIDTHS[size]
        lag = min(LAG, T // 2)
        keys = jax.random.split(key, 4 + n.layers)
        return cls(
            state=eqx.nn.Linear(1, n.c, key=keys[0]),
            history=eqx.nn.Linear(2 * T - lag, n.c, key=keys[1]),
            n=jax.random.normal(keys[2], (M, n.c)),
            layers=[Layer(n.c, n.e, key=k) for k in keys[4:]],
            W=eqx.nn.Linear(2 * n.c, K, key=keys[3]),
            lag=lag,
        )

    @property
    def sensor_count(self) -> int:
        """Sensors that a window has."""
        return self.n.shape[0]

    def embed_history(self, Y: Float[Array, "T M"]) -> Float[Array, "M c"]:
        """History g of every node."""
        traces = jnp.concatenate([Y, Y[self.lag :] - Y[: -self.lag]])
        return jax.vmap(self.history)(traces.T) + self.n

    def __call__(self, Y: Float[Array, "T M"], *, key: PRNGKeyArray | None = None) -> Output:
        """Answer to one window."""
        g = self.embed_history(Y)
        V = [layer.velocity(g) for layer in self.layers]
        keys = split(key, len(self.layers))

        def pooled(y: Float[Array, " M"]) -> Float[Array, " H"]:
            U = jax.vmap(self.state)(y[:, None]) + self.n
            for layer, v, k in zip(self.layers, V, keys, strict=True):
                U = layer(U, g, v, key=k)
            return jnp.concatenate([jnp.mean(U, axis=0), jnp.max(U, axis=0)])

        ys = recent(Y)
        # The last step is computed apart, so that a trainer that ignores `hidden` does not pay for the other steps.
        return Output(logits=self.W(pooled(ys[-1])), hidden=jax.vmap(pooled)(ys))

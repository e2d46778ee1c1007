r"""Inverse encoder: from traces to presence, ratios, strength and the vector h_Y that conditions the coefficients.

    ẑ_i = σ(w·C_i),    â_i = ẑ_i e^{o_i} / Σ_j ẑ_j e^{o_j}

Sensors are tokens (trace or its statistics, material embedding mat_m, conditions e when known), components are tokens
(species embedding r_i) that attend to the sensors; h_Y is the mean of the sensor tokens. No weight has the number of
sensors or of components in its shape, except where sensors are read by `statistics`.

**Departure from the paper**: no ε in the denominator; the ratios are a softmax of o + ln ẑ and sum to one.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import CrossAttention, dense, norm
from unmixnet.model.settings import Settings, shape_of
from unmixnet.model.statistics import Statistics
from unmixnet.model.trunk import N_FEATURES, LevelNorm, Trunk, Views, level_features

__all__ = ["Encoder", "Inference", "uninformed"]


class Inference(eqx.Module):
    """What the encoder infers from one window."""

    z_logits: Float[Array, " K"]
    a: Float[Array, " K"]
    """Gated ratios, on the simplex."""
    h_Y: Float[Array, " d"]
    """Vector that conditions the coefficients."""
    h_m: Float[Array, "M d"]
    """Tokens of the sensors."""
    log_strength: Float[Array, ""]
    """Logarithm of the overall strength, relative to a typical recording."""
    exposure: Float[Array, ""]
    """How far the chamber already is towards its steady state when the window starts, 0 to 1."""

    @property
    def z(self) -> Float[Array, " K"]:
        """Presence probabilities."""
        return jax.nn.sigmoid(self.z_logits)


def uninformed(K: int, M: int, width: int) -> Inference:
    """The inference without a trace: equal shares, a typical strength, unmodulated coefficients."""
    zero = jnp.zeros(())
    return Inference(jnp.zeros(K), jnp.full(K, 1 / K), jnp.zeros(width), jnp.zeros((M, width)), zero, zero + 1)


def gated_ratios(z_logits: Float[Array, " K"], o: Float[Array, " K"]) -> Float[Array, " K"]:
    """ẑ e^o over its sum, computed without overflow."""
    return jax.nn.softmax(o + jax.nn.log_sigmoid(z_logits))


class Encoder(eqx.Module):
    """Traces in, mixture out."""

    views: Views | None
    norm: LevelNorm | None
    trunk: Trunk | Statistics
    level: eqx.nn.Linear | None
    material: eqx.nn.Linear
    conditions: eqx.nn.Linear
    sensors: CrossAttention
    species: eqx.nn.Linear
    layers: tuple[CrossAttention, ...]
    mixture: eqx.nn.Linear
    """To (w·C, o)."""
    state: eqx.nn.Linear
    """To (log strength, exposure)."""
    dropout: float = eqx.field(static=True)

    @classmethod
    def of(cls, settings: Settings, M: int, key: PRNGKeyArray) -> "Encoder":
        """Draw an encoder of the size that the settings name, for M sensors."""
        shape = shape_of(settings.size)
        keys = iter(jax.random.split(key, 9 + shape.layers))

        def linear(inside: int, outside: int = shape.width) -> eqx.nn.Linear:
            return eqx.nn.Linear(inside, outside, key=next(keys))

        if settings.reading == "statistics":
            tokens = None, None, Statistics.of(shape.width, M, settings.rate_Hz, next(keys)), None
        else:
            views, rows = Views.of(settings.rate_Hz), max(1, round(settings.patch_s * settings.rate_Hz))
            norm, trunk = LevelNorm.of(next(keys)), Trunk.of(shape, views.count + 1, rows, next(keys))
            tokens = views, norm, trunk, linear(N_FEATURES)
        return cls(
            *tokens,
            linear(shape.embedding),
            linear(2),
            CrossAttention.of(shape.width, shape.heads, next(keys)),
            linear(shape.embedding),
            tuple(CrossAttention.of(shape.width, shape.heads, next(keys)) for _ in range(shape.layers)),
            linear(shape.width, 2),
            linear(shape.width, 2),
            settings.dropout,
        )

    def __call__(
        self,
        Y: Float[Array, "T M"],
        r: Float[Array, "K p"],
        mat: Float[Array, "M p"],
        e: Float[Array, " 2"],
        *,
        key: PRNGKeyArray | None = None,
    ) -> Inference:
        """Read one window; r and mat are embeddings, e = (warmth, moisture), zero when unknown."""
        H = self._tokens(Y) + dense(self.material, mat) + self.conditions(e)
        H = self.sensors(H, H)
        h_Y = jnp.mean(norm(H), axis=0)
        C = dense(self.species, r)
        if key is not None:
            a, b = jax.random.split(key)
            H, h_Y = _drop(H, self.dropout, a), _drop(h_Y, self.dropout, b)
        for layer in self.layers:
            C = layer(C, H)
        z_logits, o = dense(self.mixture, norm(C + h_Y)).T
        strength, exposure = self.state(h_Y)
        return Inference(
            z_logits, gated_ratios(z_logits, o), h_Y, norm(H), 2 * jnp.tanh(strength / 2), jax.nn.sigmoid(exposure)
        )

    def _tokens(self, Y: Float[Array, "T M"]) -> Float[Array, "M d"]:
        """What is read of every sensor: statistics, or the trace as it is, in which mixtures nearly add, beside the
        views of the normalised one and its level."""
        if isinstance(self.trunk, Statistics):
            return self.trunk(Y)
        views, norm, level = self.views, self.norm, self.level
        assert views is not None and norm is not None and level is not None, "traces are read through views"
        pictures = jax.vmap(lambda y: jnp.concatenate([y[:, None], views(norm(y))], axis=1))(Y.T)
        return self.trunk(pictures) + dense(level, jax.vmap(level_features)(Y.T))


def _drop(x: Float[Array, "*n"], rate: float, key: PRNGKeyArray) -> Float[Array, "*n"]:
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)

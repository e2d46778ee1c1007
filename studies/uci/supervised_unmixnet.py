r"""UCI-supervised UnMixNet, the upper bound of the paper's table: its encoder learns concentrations from UCI episodes.

    L = mean_g (Ĉ_g − C_g(t − δ*)/max C_g)²,     Ĉ_g = s · ẑ_g · â_g

s is the inferred strength, so that Ĉ is what the rollout releases of component g; gases are the first components of a
model that nothing was taught before. It fits the same episodes as the other supervised peers, with the sensor
normalisation and windows of the transfers; state to ppm and threshold then come from calibration episodes, as theirs
do. The solver takes no part: its chamber is not the one of these recordings.
"""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import expit

from studies.uci.episodes import Part, Split, windows_of
from studies.uci.providers import Frozen, model_windows, untrained
from studies.uci.supervised import choose_delay
from studies.uci.transfer import StateProvider
from unmixnet.inference.bundle import Bundle
from unmixnet.inference.precision import single_precision
from unmixnet.inference.windows import encode
from unmixnet.model.encoder import Inference
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["SUPERVISED_UNMIXNET", "released", "supervised_unmixnet"]

SUPERVISED_UNMIXNET = "UCI-supervised UnMixNet"
_BATCH, _RATE = 64, 2e-3
_BLOCK = 50
"""Steps of one compiled loop."""


def supervised_unmixnet(bundle: Bundle, *, steps: int = 1500, seed: int = 0) -> Callable[[Split], StateProvider]:
    """For every split a state provider that was trained on its fitted episodes."""

    def make(split: Split) -> StateProvider:
        frozen, gases = untrained(bundle, seed=seed), tuple(range(split.fit.series.ppm.shape[1]))
        ask = model_windows(frozen, split.calibration)
        trained = _trained(frozen, ask, split.fit, choose_delay(split, gases), steps, seed)
        return lambda windows: released(encode(trained.model, ask(windows)), len(gases))

    return make


def released(read: Inference, gases: int) -> np.ndarray:
    """Ĉ of the first components of many windows, shape (n, gases)."""
    strength, z_logits, a = (np.asarray(part, float) for part in (read.log_strength, read.z_logits, read.a))
    return (np.exp(strength)[:, None] * a * expit(z_logits))[:, :gases]


def _trained(
    frozen: Frozen, ask: Callable[[np.ndarray], np.ndarray], part: Part, delay_s: int, steps: int, seed: int
) -> Frozen:
    known = part.series.delayed(part.ends, delay_s)
    with single_precision():
        Y = jnp.asarray(ask(windows_of(part)), jnp.float32)
        C = jnp.asarray(known / np.maximum(known.max(axis=0), 1e-9), jnp.float32)
        params, static = eqx.partition(frozen.model, eqx.is_inexact_array)
        chain = optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adam(optax.warmup_cosine_decay_schedule(0, _RATE, steps // 20 + 1, steps, _RATE / 100)),
        )

        @jax.jit
        def block(params, opt, start):
            def step(carry, number):
                params, opt = carry
                key = jax.random.fold_in(jax.random.key(seed), number)
                rows = jax.random.randint(key, (_BATCH,), 0, len(Y))
                loss, grad = jax.value_and_grad(lambda p: _loss(eqx.combine(p, static), Y[rows], C[rows], key))(params)
                updates, opt = chain.update(grad, opt, params)
                return (optax.apply_updates(params, updates), opt), loss

            return jax.lax.scan(step, (params, opt), start + jnp.arange(_BLOCK))[0]

        opt = chain.init(params)
        for start in range(0, steps, _BLOCK):
            params, opt = block(params, opt, jnp.asarray(start, jnp.int32))
        return replace(frozen, model=eqx.combine(params, static))


def _loss(model: UnMixNet, Y: Float[Array, "B T M"], C: Float[Array, "B G"], key: PRNGKeyArray) -> Float[Array, ""]:
    def one(y: Float[Array, "T M"], c: Float[Array, " G"], key: PRNGKeyArray) -> Float[Array, ""]:
        read = model(y, key=key)
        return jnp.mean((jnp.exp(read.log_strength) * (read.z * read.a)[: c.shape[0]] - c) ** 2)

    return jnp.mean(jax.vmap(one)(Y, C, jax.random.split(key, Y.shape[0])))

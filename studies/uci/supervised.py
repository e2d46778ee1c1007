"""Peers that learn from UCI episodes: the mean, ridge and trees on 60 s windows. The last value forecasts readings."""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import expit

from studies.peers.models import PEERS
from studies.uci.episodes import SeriesPart, Split, windows_of
from studies.uci.estimates import DELAYS_S, HORIZON_S, GasEstimate, choose_threshold
from studies.uci.transfer import Frozen, StateProvider, model_windows, untrained
from unmixnet.inference.bundle import Bundle
from unmixnet.model.encoder import Inference
from unmixnet.model.predict import encode, single_precision
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.samples import Samples, Task

__all__ = ["SUPERVISED", "SUPERVISED_UNMIXNET", "choose_delay", "released", "run_supervised", "supervised_unmixnet"]

SUPERVISED = ("mean", "ridge", "extra-trees")


def run_supervised(split: Split, name: str, gases: tuple[int, ...], *, delay_s: int, seed: int = 0) -> GasEstimate:
    """Fit on the fitted episodes; the threshold comes from the calibration episodes.

    Readings are forecast by ridge on the same windows, as a change from the last one; the mean forecasts no change.
    """
    columns = list(gases)
    fitted = PEERS[name].fit(_samples(split.fit, columns, delay_s), Task.CONCENTRATIONS, seed=seed)
    # trees give a single gas without its axis
    held, test = (
        fitted.predict(windows_of(part)).reshape(len(part.ends), -1) for part in (split.calibration, split.test)
    )
    known = split.calibration.series.delayed(split.calibration.ends, delay_s)[:, columns]
    threshold = choose_threshold(held, known, known.max(axis=0))
    return GasEstimate(name, test, delay_s, threshold, _forecast(split, still=name == "mean"))


def choose_delay(split: Split, gases: tuple[int, ...]) -> int:
    """δ* [s]: the delay at which ridge predicts the calibration episodes best."""
    columns = list(gases)
    windows = windows_of(split.calibration)
    scores = []
    for delay_s in DELAYS_S:
        fitted = PEERS["ridge"].fit(_samples(split.fit, columns, delay_s), Task.CONCENTRATIONS)
        known = split.calibration.series.delayed(split.calibration.ends, delay_s)[:, columns]
        error = np.mean((fitted.predict(windows).reshape(known.shape) - known) ** 2, axis=0) / known.var(axis=0)
        scores.append(float(np.mean(error)))
    return DELAYS_S[int(np.argmin(scores))]


def _samples(part: SeriesPart, columns: list[int], delay_s: int) -> Samples:
    """Windows with C(t − δ); each episode counts as a recording, so that penalties are chosen on whole ones."""
    names = tuple(f"{part.series.name} {episode}" for episode in part.groups)
    targets = part.series.delayed(part.ends, delay_s)[:, columns]
    return Samples(windows_of(part), targets, names, ("",) * len(names))


def _forecast(split: Split, *, still: bool) -> np.ndarray:
    """Log readings ten seconds ahead."""
    now = split.test.series.log_G[split.test.ends]
    if still:
        return now
    fit = split.fit
    change = fit.series.log_G[fit.ends + HORIZON_S] - fit.series.log_G[fit.ends]
    names = tuple(f"{fit.series.name} {episode}" for episode in fit.groups)
    ridge = PEERS["ridge"].fit(Samples(windows_of(fit), change, names, ("",) * len(names)), Task.CONCENTRATIONS)
    return now + ridge.predict(windows_of(split.test))


SUPERVISED_UNMIXNET = "UCI-supervised UnMixNet"
_BATCH, _RATE = 64, 2e-3
_BLOCK = 50
"""Steps of one compiled loop."""


def supervised_unmixnet(bundle: Bundle, *, steps: int = 1500, seed: int = 0) -> Callable[[Split], StateProvider]:
    """For every split a state provider that was trained on its fitted episodes."""

    def make(split: Split) -> StateProvider:
        frozen, gases = untrained(bundle, seed=seed), tuple(range(split.fit.series.ppm.shape[1]))
        to_windows = model_windows(frozen, split.calibration)
        trained = _trained(frozen, to_windows, split.fit, choose_delay(split, gases), steps, seed)
        return lambda windows: released(encode(trained.model, to_windows(windows)), len(gases))

    return make


def released(read: Inference, gases: int) -> np.ndarray:
    """Ĉ of the first components of many windows, shape (n, gases)."""
    strength, z_logits, a = (np.asarray(part, float) for part in (read.log_strength, read.z_logits, read.a))
    return (np.exp(strength)[:, None] * a * expit(z_logits))[:, :gases]


def _trained(
    frozen: Frozen,
    to_windows: Callable[[np.ndarray], np.ndarray],
    part: SeriesPart,
    delay_s: int,
    steps: int,
    seed: int,
) -> Frozen:
    known = part.series.delayed(part.ends, delay_s)
    with single_precision():
        Y = jnp.asarray(to_windows(windows_of(part)), jnp.float32)
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

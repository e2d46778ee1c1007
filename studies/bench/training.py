"""Where the time of a training step goes: encoder, solver forward, solver backward; in one run, as ratios."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from unmixnet.files.provenance import provenance
from unmixnet.model.settings import Settings
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.losses import mixture_loss, reconstruction_loss

__all__ = ["run_training"]

BATCH, ODORANTS, WINDOW_S, REPEATS = 32, 12, 30.0, 20


def run_training(*, size: str = "small", progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Time a step of the closed loop and its parts; one dictionary, ready for JSON."""
    settings = Settings(size=size)  # pyright: ignore[reportArgumentType]
    T, chamber = round(WINDOW_S * settings.rate_Hz), portable_enose()
    model = eqx.filter_jit(lambda key: UnMixNet.of(settings, chamber, ODORANTS, key=key))(jax.random.key(0))
    params, static = eqx.partition(model, eqx.is_inexact_array)
    signal_key, share_key = jax.random.split(jax.random.key(1))
    Y = jax.random.normal(signal_key, (BATCH, T, len(chamber.sensors)))
    a = jax.random.dirichlet(share_key, jnp.ones(ODORANTS), (BATCH,))
    seconds, bytes_ = {}, {}
    for name, function in _programs(static, Y, a).items():
        progress(name)
        compiled = jax.jit(function).lower(params).compile()
        seconds[name] = _time(compiled, params)
        memory: Any = compiled.memory_analysis()
        bytes_[name] = memory.temp_size_in_bytes + memory.output_size_in_bytes
    encoder, whole = seconds["encoder, forward and backward"], seconds["closed loop, forward and backward"]
    forward = seconds["closed loop, forward"] - seconds["encoder, forward"]
    shares = {"encoder": encoder, "solver forward": forward, "solver backward": whole - encoder - forward}
    return {
        **provenance("python -m studies bench training"),
        "problem": {"batch": BATCH, "odorants": ODORANTS, "window_s": WINDOW_S, "size": size, "float": 32},
        "seconds": seconds,
        "memory_bytes": bytes_,
        "shares": {name: part / whole for name, part in shares.items()},
        "closed_loop_over_encoder": whole / encoder,
    }


def _programs(static: Any, Y: jax.Array, a: jax.Array) -> dict[str, Callable[[Any], Any]]:
    def encoder(params: Any) -> jax.Array:
        inference = jax.vmap(eqx.combine(params, static))(Y)
        return jnp.mean(jax.vmap(mixture_loss)(inference.z_logits, inference.a, a))

    def loop(params: Any) -> jax.Array:
        model = eqx.combine(params, static)
        inference = jax.vmap(model)(Y)
        solved = model.reconstruct_all(inference, Y[:, 0], Y.shape[1])
        mix = jax.vmap(mixture_loss)(inference.z_logits, inference.a, a)
        return jnp.mean(mix + reconstruction_loss(model.observed(jnp.moveaxis(Y, 0, -1)), solved.y))

    return {
        "encoder, forward": encoder,
        "encoder, forward and backward": jax.grad(encoder),
        "closed loop, forward": loop,
        "closed loop, forward and backward": jax.grad(loop),
    }


def _time(compiled: Callable[..., Any], params: Any) -> float:
    """Median seconds of a call."""
    jax.block_until_ready(compiled(params))
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(compiled(params))
        seconds.append(time.perf_counter() - began)
    return sorted(seconds)[len(seconds) // 2]

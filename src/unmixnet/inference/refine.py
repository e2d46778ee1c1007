r"""Refinement: a few gradient steps on the mixture through the solver, from the encoder's answer.

    objective = ½ Σ_m mean_t ((y_m − ŷ_m)/σ_m)² + ½ pull (‖δz‖² + ‖δo‖² + δs²)

δz, δo and δs are the changes of presence logits, ratio logits and log strength; σ_m is the typical residual of
channel m. The step with the least objective is kept, so refinement never makes it worse.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float

from unmixnet.model.encoder import Inference
from unmixnet.model.predict import chunked
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["Refined", "refine"]

_CHUNK = 8


class Refined(eqx.Module):
    """Refined windows, with the objective of each before and after."""

    inference: Inference
    before: Float[Array, " n"]
    after: Float[Array, " n"]


class _Change(eqx.Module):
    z: Float[Array, "B K"]
    o: Float[Array, "B K"]
    s: Float[Array, " B"]


def refine(
    model: UnMixNet,
    Y: np.ndarray,
    inference: Inference,
    *,
    steps: int,
    noise: Sequence[float] | np.ndarray,
    rate: float = 0.05,
    pull: float = 1.0,
) -> Refined:
    """Refine windows (n, T, M) by Adam; zero steps give the inferences back as they are.

    Arguments:
        inference: the encoder's answers, with a first axis n.
        noise: σ of each channel [sd of the training signal].
        rate: learning rate on the logits.
        pull: weight of the departure from the encoder's answer.
    """
    size = np.asarray([steps, rate, pull], np.float32)
    sigma = np.asarray(noise, np.float32)
    done = chunked(
        lambda Y, inference: _refine(model, inference, Y, jnp.asarray(sigma), jnp.asarray(size)), (Y, inference), _CHUNK
    )
    return done if steps > 0 else eqx.tree_at(lambda r: r.inference, done, inference)


def objective(
    model: UnMixNet,
    inference: Inference,
    Y: Float[Array, "B T M"],
    change: Any,
    sigma: Float[Array, " M"],
    pull: Float[Array, ""],
) -> Float[Array, " B"]:
    """The objective of every window."""
    solved = model.reconstruct_all(changed(inference, change), Y[:, 0], Y.shape[1])
    missed = (model.observed(jnp.moveaxis(Y, 0, -1)) - solved.y) / sigma[:, None]
    near = jnp.sum(change.z**2, axis=1) + jnp.sum(change.o**2, axis=1) + change.s**2
    return 0.5 * jnp.sum(jnp.mean(missed**2, axis=0), axis=0) + 0.5 * pull * near


def changed(inference: Inference, change: Any) -> Inference:
    """The inferences with their logits and strengths moved; the ratios stay gated by the presence."""
    z = inference.z_logits + change.z
    o = jnp.log(jnp.maximum(inference.a, 1e-9)) - jax.nn.log_sigmoid(inference.z_logits) + change.o
    a = jax.nn.softmax(o + jax.nn.log_sigmoid(z))
    return eqx.tree_at(
        lambda i: (i.z_logits, i.a, i.log_strength), inference, (z, a, inference.log_strength + change.s)
    )


@eqx.filter_jit
def _refine(
    model: UnMixNet,
    inference: Inference,
    Y: Float[Array, "B T M"],
    sigma: Float[Array, " M"],
    size: Float[Array, " 3"],
) -> Refined:
    steps, rate, pull = size[0].astype(jnp.int32), size[1], size[2]
    adam = optax.scale_by_adam()

    def value(change: Any) -> tuple[Float[Array, ""], Float[Array, " B"]]:
        """The sum of all objectives, whose gradient by a window's change is that of its own."""
        each = objective(model, inference, Y, change, sigma, pull)
        return jnp.sum(each), each

    start = jax.tree.map(jnp.zeros_like, _Change(inference.z_logits, inference.z_logits, inference.log_strength))

    def step(_, carry):
        change, moments, best, least, first = carry
        grad, now = jax.grad(value, has_aux=True)(change)
        grad = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), g, 0), grad)
        best = jax.tree.map(lambda new, old: _where(now < least, new, old), change, best)
        direction, moments = adam.update(grad, moments)
        moved = jax.tree.map(lambda c, d: c - rate * d, change, direction)
        return moved, moments, best, jnp.minimum(now, least), jnp.where(jnp.isinf(first), now, first)

    # One iteration more than steps: each first evaluates the result of the one before.
    infinite = jnp.full(Y.shape[0], jnp.inf, Y.dtype)
    carry = (start, adam.init(start), start, infinite, infinite)
    _, _, best, least, first = jax.lax.fori_loop(0, steps + 1, step, carry)
    return Refined(changed(inference, best), first, least)


def _where(better: Bool[Array, " B"], new: Float[Array, "B *n"], old: Float[Array, "B *n"]) -> Float[Array, "B *n"]:
    """By window."""
    return jnp.where(better.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

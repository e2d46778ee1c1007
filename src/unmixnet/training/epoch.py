"""One epoch as one compiled, deterministic function of (state, seed, epoch number).

Every recording gives one random window; the order, windows, dropout and virtual recordings all follow from the seed and
the epoch, so that a run resumed from a checkpoint is the run that was never stopped.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.loss import Batch, Recipe, batch_loss, predict_ratios
from unmixnet.training.virtual import Bank

__all__ = ["Arrays", "EpochReport", "Plan", "TrainState", "make_epoch", "names_at", "restored", "start_state"]


@dataclass(frozen=True)
class Plan:
    """How to optimise.

    Arguments:
        epochs: at most; `patience`: epochs without a better validation score before it stops.
        batch: windows in a step.
        rate: peak learning rate, after `warmup` (share of all steps) and before a cosine to a hundredth of it.
        physics_rate: factor on it for everything but the encoder.
        decay: AdamW's weight decay; `clip`: largest norm of a gradient.
        ema: decay of the running mean of weights that is evaluated and kept; 0 evaluates the weights themselves.
    """

    epochs: int = 150
    patience: int = 40
    batch: int = 32
    rate: float = 1e-3
    physics_rate: float = 3.0
    warmup: float = 0.05
    decay: float = 1e-4
    clip: float = 1.0
    ema: float = 0.98


class TrainState(eqx.Module):
    """Everything that an epoch changes. All tensors of a model stand in one row: one update instead of hundreds."""

    params: Float[Array, " P"]
    opt: PyTree
    ema: Float[Array, " P"]
    best: Float[Array, " P"]
    best_score: Float[Array, ""]
    best_epoch: Int[Array, ""]
    epoch: Int[Array, ""]
    """Epochs that are done."""


class Arrays(eqx.Module):
    """Training recordings and validation windows on the device."""

    traces: Float[Array, "n L M"]
    lengths: Int[Array, " n"]
    targets: Float[Array, "n K"]
    windows: Float[Array, "w T M"]
    """Validation windows."""
    owner: Int[Array, " w"]
    """Validation recording of each."""
    truth: Float[Array, "v K"]
    air: Float[Array, " M"]
    sd: Float[Array, " M"]
    sign: Float[Array, " M"]
    session: Int[Array, " n"]
    """Number of the session of each training recording."""
    bank: Bank | None = None
    """Virtual recordings; none without calibration."""


class EpochReport(eqx.Module):
    """What an epoch was like."""

    parts: dict[str, Float[Array, ""]]
    loss: Float[Array, ""]
    score: Float[Array, ""]
    """Validation error: mean |â − a| of recordings."""
    bad_step: Int[Array, ""]
    """First step with a gradient that is not finite, −1 if none; nothing was changed from there on."""
    bad: Bool[Array, " P"]
    """Where in the row of all tensors they were."""


def optimiser(plan: Plan, steps: int) -> optax.GradientTransformation:
    """AdamW with clipping, warm-up and cosine."""
    total = max(steps * plan.epochs, 2)
    schedule = optax.warmup_cosine_decay_schedule(
        0.0, plan.rate, max(1, round(plan.warmup * total)), total, plan.rate / 100
    )
    return optax.chain(optax.clip_by_global_norm(plan.clip), optax.adamw(schedule, weight_decay=plan.decay))


def steps_per_epoch(n: int, batch: int) -> int:
    """Steps of an epoch; the last batch is filled up with recordings from the start of the order."""
    return -(-n // batch)


def start_state(model: PyTree, plan: Plan, n: int) -> TrainState:
    """State before the first epoch."""
    params, _ = ravel_pytree(eqx.filter(model, eqx.is_inexact_array))
    opt = optimiser(plan, steps_per_epoch(n, plan.batch)).init(params)
    none, zero = jnp.asarray(jnp.inf, jnp.float32), jnp.asarray(0, jnp.int32)
    return TrainState(params, opt, params, params, none, zero, zero)


def restored(model: PyTree, row: Float[Array, " P"]) -> PyTree:
    """The model with its tensors taken from a row."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    return eqx.combine(ravel_pytree(params)[1](row), static)


def names_at(model: PyTree, bad: np.ndarray) -> list[str]:
    """Names of the tensors that have a marked entry in the row."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_inexact_array))
    ends = np.cumsum([leaf.size for _, leaf in leaves])
    hit = [part.any() for part in np.split(bad, ends[:-1])]
    return [jax.tree_util.keystr(path).lstrip(".") for (path, _), is_hit in zip(leaves, hit, strict=True) if is_hit]


def make_epoch(model: PyTree, plan: Plan, recipe: Recipe, window: int) -> Callable[..., Any]:
    """Compile-once function (state, arrays, seed) → (state, report); models of one structure share it."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(
        jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), params)
    )
    rest, frame = jax.tree.flatten(static)
    return _epoch_of(structure, tuple(leaves), frame, tuple(rest), plan, recipe, window)


@lru_cache(maxsize=8)
def _epoch_of(
    structure: Any, leaves: tuple[Any, ...], frame: Any, rest: tuple[Any, ...], plan: Plan, recipe: Recipe, window: int
) -> Callable[..., Any]:
    shapes, static = jax.tree.unflatten(structure, leaves), jax.tree.unflatten(frame, rest)
    unravel = ravel_pytree(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes))[1]
    pace = _pace(shapes, plan.physics_rate)

    @jax.jit
    def epoch(state: TrainState, arrays: Arrays, seed: Int[Array, ""]) -> tuple[TrainState, EpochReport]:
        n, P = arrays.traces.shape[0], state.params.shape[0]
        steps = steps_per_epoch(n, plan.batch)
        chain = optimiser(plan, steps)
        key = jax.random.fold_in(jax.random.key(seed), state.epoch)
        order = jnp.resize(jax.random.permutation(jax.random.fold_in(key, steps), n), (steps, plan.batch))

        def step(carry, rows):
            now, stopped, where, number = carry
            row, opt, ema = now
            draw = jax.random.fold_in(key, number)
            (loss, parts), grad = jax.value_and_grad(objective, has_aux=True)(row, rows, draw, arrays)
            broken = ~jnp.isfinite(grad)
            halt = jnp.any(broken) | ~jnp.isfinite(loss) | (stopped >= 0)
            updates, opt = chain.update(grad, opt, row)
            moved = row + pace * updates
            new = (moved, opt, plan.ema * ema + (1 - plan.ema) * moved)
            first = (stopped < 0) & halt
            now = jax.tree.map(lambda old, new: jnp.where(halt, old, new), now, new)
            return (now, jnp.where(first, number, stopped), jnp.where(first, broken, where), number + 1), (loss, parts)

        none, zero = jnp.asarray(-1, jnp.int32), jnp.asarray(0, jnp.int32)
        carry = ((state.params, state.opt, state.ema), none, jnp.zeros(P, bool), zero)
        ((row, opt, ema), stopped, where, _), (losses, parts) = jax.lax.scan(step, carry, order)
        score = validate(ema, arrays) if arrays.windows.shape[0] else -state.epoch.astype(jnp.float32)
        score = score.astype(state.best_score.dtype)
        better, done = (score < state.best_score) & (stopped < 0), state.epoch + 1
        new = TrainState(
            row,
            opt,
            ema,
            jnp.where(better, ema, state.best),
            jnp.where(better, score, state.best_score),
            jnp.where(better, done, state.best_epoch),
            done,
        )
        return new, EpochReport(jax.tree.map(jnp.mean, parts), jnp.mean(losses), score, stopped, where)

    def objective(row, rows, key, arrays):
        one, two = jax.random.split(key)
        batch = Batch(_windows(arrays, rows, window, one), arrays.targets[rows])
        model = eqx.combine(unravel(row), static)
        return batch_loss(model, batch, recipe, arrays.air, arrays.sd, arrays.sign, two, arrays.bank)

    def validate(row, arrays):
        model = eqx.combine(unravel(row), static)
        guess = jax.lax.map(lambda Y: predict_ratios(model, Y), arrays.windows, batch_size=64)
        total = jnp.zeros_like(arrays.truth).at[arrays.owner].add(guess)
        mean = total / jnp.zeros(arrays.truth.shape[0]).at[arrays.owner].add(1)[:, None]
        return jnp.mean(jnp.abs(mean - arrays.truth))

    return epoch


def _windows(arrays: Arrays, rows: Int[Array, " B"], window: int, key: PRNGKeyArray) -> Float[Array, "B T M"]:
    """One random window of each recording."""
    room = arrays.lengths[rows] - window + 1
    starts = jax.random.randint(key, rows.shape, 0, room)
    cut = lambda row, start: jax.lax.dynamic_slice_in_dim(arrays.traces[row], start, window)  # noqa: E731
    return jax.vmap(cut)(rows, starts)


def _pace(params: PyTree, factor: float) -> np.ndarray:
    """Factor on the steps of every entry: those of the physical coefficients are longer than the encoder's."""
    if not isinstance(params, UnMixNet):
        return np.ones((), np.float32)
    ones = jax.tree.map(lambda leaf: np.full(leaf.shape, factor, np.float32), params)
    ones = eqx.tree_at(lambda m: m.encoder, ones, jax.tree.map(np.ones_like, ones.encoder))
    return np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(ones)])

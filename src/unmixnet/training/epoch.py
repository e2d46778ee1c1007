"""One epoch as a deterministic function of (state, seed, epoch number).

Every recording gives one random window or a few; the order, windows, dropout and virtual recordings all follow from
the seed and the epoch, so that a run resumed from a checkpoint is the run that was never stopped. Only the step is
compiled, and it sees one batch: trainings on different recordings share it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Ge, Gt, Lt
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PyTree

from unmixnet.model.predict import window_ratios
from unmixnet.model.statistics import Statistics
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.augmentation import Bank
from unmixnet.training.objective import Batch, Recipe, batch_loss

__all__ = ["Arrays", "EpochReport", "TrainState", "TrainingPlan", "make_epoch", "names_at", "restored", "start_state"]


@dataclass(frozen=True)
class TrainingPlan:
    """How to optimise.

    Arguments:
        epochs: at most; `patience`: epochs without a better validation score before it stops.
        windows: random windows of each recording in an epoch; `batch`: windows in a step.
        rate: peak learning rate, after `warmup` (share of all steps) and before a cosine to a hundredth of it.
        physics_rate: factor on it for everything but the encoder.
        decay: AdamW's weight decay; `clip`: largest norm of a gradient.
        ema: decay of the running mean of weights that is evaluated and kept; 0 evaluates the weights themselves.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    epochs: Annotated[int, Gt(0)] = 150
    patience: Annotated[int, Gt(0)] = 40
    windows: Annotated[int, Gt(0)] = 1
    batch: Annotated[int, Gt(0)] = 32
    rate: Annotated[float, Gt(0)] = 1e-3
    physics_rate: Annotated[float, Gt(0)] = 3.0
    warmup: Annotated[float, Ge(0), Lt(1)] = 0.05
    decay: Annotated[float, Ge(0)] = 1e-4
    clip: Annotated[float, Gt(0)] = 1.0
    ema: Annotated[float, Ge(0), Lt(1)] = 0.98


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


@dataclass(frozen=True, eq=False)
class EpochReport:
    """Results of an epoch.

    Arguments:
        parts, loss: means over the steps.
        score: validation error, mean |â − a| of recordings.
        bad_step: first step with a gradient that is not finite, −1 if none; nothing was changed from there on.
        bad: where in the row of all tensors they were.
    """

    parts: dict[str, float]
    loss: float
    score: float
    bad_step: int
    bad: Bool[np.ndarray, " P"]


def optimiser(plan: TrainingPlan) -> optax.GradientTransformation:
    """AdamW with clipping, but for the learning rate."""
    return optax.chain(
        optax.clip_by_global_norm(plan.clip), optax.scale_by_adam(), optax.add_decayed_weights(plan.decay)
    )


@lru_cache
def rates(plan: TrainingPlan, steps: int) -> Float[np.ndarray, " n"]:
    """Learning rate of every step of a training with so many steps in an epoch: warm-up, then a cosine."""
    total = max(steps * plan.epochs, 2)
    warm = max(1, round(plan.warmup * total))
    schedule = optax.warmup_cosine_decay_schedule(0.0, plan.rate, warm, total, plan.rate / 100)
    return np.asarray(schedule(np.arange(total)), np.float32)


def steps_per_epoch(n: int, batch: int) -> int:
    """Steps of an epoch of n windows; the last batch is filled up with those from the start of the order."""
    return -(-n // batch)


def start_state(model: PyTree, plan: TrainingPlan) -> TrainState:
    """State before the first epoch."""
    params, _ = ravel_pytree(eqx.filter(model, eqx.is_inexact_array))
    none, zero = jnp.asarray(jnp.inf, jnp.float32), jnp.asarray(0, jnp.int32)
    return TrainState(params, optimiser(plan).init(params), params, params, none, zero, zero)


def restored(model: PyTree, row: Float[Array, " P"]) -> PyTree:
    """The model with its tensors taken from a row."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(params)
    pieces = np.split(np.asarray(row), np.cumsum([leaf.size for leaf in leaves])[:-1])
    tensors = [jnp.asarray(piece.reshape(leaf.shape)) for piece, leaf in zip(pieces, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, tensors), static)


def names_at(model: PyTree, bad: np.ndarray) -> list[str]:
    """Names of the tensors that have a marked entry in the row."""
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(model, eqx.is_inexact_array))
    ends = np.cumsum([leaf.size for _, leaf in leaves])
    hit = [part.any() for part in np.split(bad, ends[:-1])]
    return [jax.tree_util.keystr(path).lstrip(".") for (path, _), is_hit in zip(leaves, hit, strict=True) if is_hit]


def make_epoch(model: PyTree, plan: TrainingPlan, recipe: Recipe, window: int) -> Callable[..., Any]:
    """Function (state, arrays, seed) → (state, report); models of one structure share its compiled step."""
    params, static = eqx.partition(model, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(
        jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), params)
    )
    rest, frame = jax.tree.flatten(static)
    step = _step_of(structure, tuple(leaves), frame, tuple(rest), plan, recipe)

    def epoch(state: TrainState, arrays: Arrays, seed: int) -> tuple[TrainState, EpochReport]:
        done, n = int(state.epoch), arrays.traces.shape[0]
        draw = np.random.default_rng([int(seed), done])
        order = _order(n, plan, draw)
        rate = rates(plan, len(order))[done * len(order) :]
        carry, entries, given = _Carry.of(state), [], (arrays.air, arrays.sd, arrays.sign, arrays.bank)
        for number, rows in enumerate(order):
            batch = _windows(arrays, rows, window, draw)
            when = np.array([seed, done, number], np.int32)
            carry, entry = step(carry, batch, rate[number], when, given)
            entries.append(entry)
        score = _score(restored(model, carry.ema), arrays) if len(arrays.windows) else -float(done)
        stopped = int(carry.stopped)
        better = stopped < 0 and score < float(state.best_score)
        new = TrainState(
            carry.params,
            carry.opt,
            carry.ema,
            carry.ema if better else state.best,
            jnp.asarray(score, state.best_score.dtype) if better else state.best_score,
            jnp.asarray(done + 1, jnp.int32) if better else state.best_epoch,
            jnp.asarray(done + 1, jnp.int32),
        )
        loss, parts = jax.tree.map(lambda *values: float(np.mean(values)), *entries)
        return new, EpochReport(parts, loss, score, stopped, np.asarray(carry.bad))

    return epoch


class _Carry(eqx.Module):
    """What a step changes."""

    params: Float[Array, " P"]
    opt: PyTree
    ema: Float[Array, " P"]
    stopped: Int[Array, ""]
    """Number of the first bad step, −1 before."""
    bad: Bool[Array, " P"]

    @classmethod
    def of(cls, state: TrainState) -> "_Carry":
        none = jnp.asarray(-1, jnp.int32)
        return cls(state.params, state.opt, state.ema, none, jnp.zeros(state.params.shape, bool))


@lru_cache(maxsize=8)
def _step_of(
    structure: Any, leaves: tuple[Any, ...], frame: Any, rest: tuple[Any, ...], plan: TrainingPlan, recipe: Recipe
) -> Callable[..., Any]:
    """The compiled step."""
    shapes, static = jax.tree.unflatten(structure, leaves), jax.tree.unflatten(frame, rest)
    unravel = ravel_pytree(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes))[1]
    pace, chain = _update_factors(shapes, plan.physics_rate), optimiser(plan)

    def objective(row, batch, key, given):
        air, sd, sign, bank = given
        return batch_loss(eqx.combine(unravel(row), static), batch, recipe, air, sd, sign, key, bank)

    @jax.jit
    def step(carry: _Carry, batch: Batch, rate: Float[Array, ""], when: Int[Array, " 3"], given: tuple[Any, ...]):
        seed, epoch, number = when
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), epoch), number)
        (loss, parts), grad = jax.value_and_grad(objective, has_aux=True)(carry.params, batch, key, given)
        broken = ~jnp.isfinite(grad)
        halt = jnp.any(broken) | ~jnp.isfinite(loss) | (carry.stopped >= 0)
        updates, opt = chain.update(grad, carry.opt, carry.params)
        moved = carry.params - (rate * pace * jnp.asarray(updates)).astype(carry.params.dtype)
        first = (carry.stopped < 0) & halt
        stopped = jnp.where(first, number, carry.stopped)
        new = _Carry(moved, opt, plan.ema * carry.ema + (1 - plan.ema) * moved, stopped, carry.bad)
        kept = eqx.tree_at(lambda c: (c.stopped, c.bad), carry, (stopped, jnp.where(first, broken, carry.bad)))
        return jax.tree.map(lambda old, new: jnp.where(halt, old, new), kept, new), (loss, parts)

    return step


def _score(model: PyTree, arrays: Arrays) -> float:
    """Mean |â − a| of the validation recordings, each the mean over its windows."""
    guess, owner, truth = (
        window_ratios(model, np.asarray(arrays.windows)),
        np.asarray(arrays.owner),
        np.asarray(arrays.truth),
    )
    total = np.zeros(truth.shape)
    np.add.at(total, owner, guess)
    return float(np.mean(np.abs(total / np.bincount(owner, minlength=len(truth))[:, None] - truth)))


def _order(n: int, plan: TrainingPlan, draw: np.random.Generator) -> Int[np.ndarray, "steps batch"]:
    """Recordings of every step."""
    shape = steps_per_epoch(plan.windows * n, plan.batch), plan.batch
    return np.resize(draw.permutation(plan.windows * n) % n, shape)


def _windows(arrays: Arrays, rows: np.ndarray, window: int, draw: np.random.Generator) -> Batch:
    """One random window of each recording."""
    starts = draw.integers(0, np.asarray(arrays.lengths)[rows] - window + 1)
    Y = np.asarray(arrays.traces)[rows[:, None], starts[:, None] + np.arange(window)]
    return Batch(jnp.asarray(Y), jnp.asarray(np.asarray(arrays.targets)[rows]))


def _update_factors(params: PyTree, factor: float) -> np.ndarray:
    """Factor on the update of every entry: `factor` for the physics, 1 for the encoder, 0 for fitted statistics."""
    if not isinstance(params, UnMixNet):
        return np.ones((), np.float32)
    ones = jax.tree.map(lambda leaf: np.full(leaf.shape, factor, np.float32), params)
    ones = eqx.tree_at(lambda m: m.encoder, ones, jax.tree.map(np.ones_like, ones.encoder))
    if isinstance(ones.encoder.trunk, Statistics):
        ones = eqx.tree_at(_fitted_statistics, ones, jax.tree.map(np.zeros_like, _fitted_statistics(ones)))
    return np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(ones)])


def _fitted_statistics(model: UnMixNet) -> tuple[Any, ...]:
    """Tensors of an encoder that are fitted to recordings, not trained."""
    trunk = model.encoder.trunk
    assert isinstance(trunk, Statistics), "only statistics are fitted to recordings"
    return trunk.air, trunk.mu, trunk.sigma

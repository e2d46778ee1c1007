"""Pretraining: the physics is calibrated, a bank of virtual recordings is solved, and the encoder learns from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.augmentation import Bank, Leftover, NuisanceSpread, bank_of
from unmixnet.training.config import TrainConfig
from unmixnet.training.epoch import Arrays, TrainingPlan
from unmixnet.training.gauss_newton import gauss_newton
from unmixnet.training.objective import Recipe, virtual_loss

__all__ = ["Calibrated", "calibrate_physics", "pretrain", "pretrain_encoder"]

_CALIBRATION_BLOCK = 25
"""Steps in a compiled block, after which progress is reported."""


class RecordingNuisances(eqx.Module):
    """Strengths of recordings, gains and offsets of sessions."""

    log_strength: Float[Array, "*n"]
    log_gain: Float[Array, "*s M"]
    offset: Float[Array, "*s M"]

    def of(self, row: Int[Array, ""], session: Int[Array, ""]) -> "RecordingNuisances":
        """Those of one recording."""
        return RecordingNuisances(self.log_strength[row], self.log_gain[session], self.offset[session])


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A model whose physics fits its training recordings.

    Arguments:
        model: with the coefficients found; its encoder is as it was.
        residuals: Y − Ŷ of every recording at the solver's steps, shape (n, steps, M).
        rms: of the residuals, in standard deviations of the training signal.
        strength_sd, gain_sd: spread of the nuisances that were found.
    """

    model: UnMixNet
    residuals: np.ndarray
    rms: float
    strength_sd: float
    gain_sd: float


def calibrate_physics(
    model: UnMixNet,
    arrays: Arrays,
    *,
    window: int,
    steps: int,
    polish: int = 0,
    rate: float = 1e-2,
    batch: int = 48,
    nuisance: NuisanceSpread,
    seed: int = 0,
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
) -> Calibrated:
    """Fit the global coefficients to the first window of every training recording.

    Arguments:
        steps: of Adam on random batches, as a start for Gauss–Newton.
        polish: steps of Gauss–Newton on all recordings.
    """
    n, M = arrays.traces.shape[0], arrays.traces.shape[2]
    sessions = int(np.max(np.asarray(arrays.session))) + 1
    nothing = RecordingNuisances(jnp.zeros(n), jnp.zeros((sessions, M)), jnp.zeros((sessions, M)))
    encoder, physics = model.encoder, eqx.tree_at(lambda m: m.encoder, model, None)
    params, static = eqx.partition(physics, eqx.is_inexact_array)
    Y, a = arrays.traces[:, :window], arrays.targets

    def left(state: tuple[Any, RecordingNuisances], rows: Int[Array, " B"]) -> Float[Array, "B steps M"]:
        mine = jax.vmap(state[1].of)(rows, arrays.session[rows])
        return _residuals(eqx.combine(state[0], static), Y[rows], a[rows], mine)

    state: Any = (params, nothing)
    state = _rough(state, left, n, steps, rate, min(batch, n), nuisance, seed, watch)
    state = _fine(state, left, n, polish, nuisance, watch)
    residuals = np.asarray(jax.jit(left)(state, jnp.arange(n)))
    return Calibrated(
        eqx.tree_at(lambda m: m.encoder, eqx.combine(state[0], static), encoder, is_leaf=lambda leaf: leaf is None),
        residuals,
        float(np.sqrt(np.mean(residuals**2))),
        float(jnp.std(state[1].log_strength)),
        float(jnp.std(state[1].log_gain)),
    )


def _rough(
    state: Any,
    left: Callable[..., Any],
    n: int,
    steps: int,
    rate: float,
    batch: int,
    nuisance: NuisanceSpread,
    seed: int,
    watch: Callable[[dict[str, Any]], None],
) -> Any:
    """Adam on random batches."""
    chain = optax.adam(optax.warmup_cosine_decay_schedule(0, rate, max(1, steps // 20), steps, rate / 100))

    def loss(state: Any, rows: Int[Array, " B"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        over = left(state, rows)
        misfit = jnp.mean(over**2)
        prior = sum(jnp.sum(part**2) for part in _prior(state[1], nuisance))
        return misfit + nuisance.noise**2 * prior / (n * over[0].size), misfit

    @jax.jit
    def block(state, opt, start):
        def step(carry, number):
            state, opt = carry
            key = jax.random.fold_in(jax.random.key(seed), number)
            rows = jax.random.permutation(key, n)[:batch]
            (_, misfit), grad = jax.value_and_grad(loss, has_aux=True)(state, rows)
            updates, opt = chain.update(grad, opt, state)
            moved = optax.apply_updates(state, updates)
            return (moved, opt), misfit

        (state, opt), misfit = jax.lax.scan(step, (state, opt), start + jnp.arange(_CALIBRATION_BLOCK))
        return state, opt, jnp.mean(misfit)

    opt = chain.init(state)
    for start in range(0, steps, _CALIBRATION_BLOCK):
        state, opt, misfit = block(state, opt, jnp.asarray(start, jnp.int32))
        watch({"before": "physics", "step": start + _CALIBRATION_BLOCK, "of": steps, "value": float(jnp.sqrt(misfit))})
    return state


def _fine(
    state: Any,
    left: Callable[..., Any],
    n: int,
    iterations: int,
    nuisance: NuisanceSpread,
    watch: Callable[[dict[str, Any]], None],
) -> Any:
    """Gauss–Newton on all recordings; every residual is weighed so that the sum of squares is the loss."""
    if iterations == 0:
        return state
    row, unravel = ravel_pytree(state)

    def residuals(row: Float[Array, " P"]) -> tuple[Any, Any]:
        state = unravel(row)
        over = left(state, jnp.arange(n))
        prior = [nuisance.noise * part / np.sqrt(over.size) for part in _prior(state[1], nuisance)]
        return over / np.sqrt(over.size), prior

    def report(iteration: int, total: float) -> None:
        watch({"before": "physics, finer", "step": iteration + 1, "of": iterations, "value": float(np.sqrt(total))})

    return unravel(gauss_newton(residuals, row, iterations=iterations, watch=report))


def _residuals(
    model: UnMixNet, Y: Float[Array, "B T M"], a: Float[Array, "B K"], mine: RecordingNuisances
) -> Float[Array, "B steps M"]:
    """Residuals of recordings under the global coefficients, with the nuisances of each."""
    typical = eqx.tree_at(lambda i: i.log_strength, model.uninformed(), mine.log_strength)
    air = model.transduction.baseline
    y = jnp.moveaxis(model.reconstruct_all(typical, Y[:, 0], Y.shape[1], shares=a).y, -1, 0)
    offset, gain = mine.offset[:, None], jnp.exp(mine.log_gain)[:, None]
    return jax.vmap(model.observed)(Y) - (air + offset + gain * (y - air))


def _prior(nuisances: RecordingNuisances, nuisance: NuisanceSpread) -> list[Float[Array, "*any"]]:
    """Nuisances over their standard deviations; one without spread gets a narrow prior."""
    spread = (nuisance.strength, nuisance.gain, nuisance.offset)
    values = (nuisances.log_strength, nuisances.log_gain, nuisances.offset)
    return [value / max(sd, 1e-3) for value, sd in zip(values, spread, strict=True)]


_BLOCK = 50
"""Steps in a compiled block, after which progress is reported."""
_MOST = 96
"""Virtual recordings in a step."""


def pretrain(
    model: UnMixNet, arrays: Arrays, config: TrainConfig, seed: int, watch: Callable[[dict[str, Any]], None]
) -> tuple[UnMixNet, Bank | None]:
    """The model with calibrated physics and an encoder that has learned from it, and the bank if it is used."""
    options, recipe, window = config.training, config.recipe, config.window
    calibrated = calibrate_physics(
        model,
        arrays,
        window=window,
        steps=options.calibration,
        polish=options.polish,
        nuisance=recipe.nuisance,
        seed=seed,
        watch=watch,
    )
    if options.virtual == 0 and options.schooling == 0:
        return calibrated.model, None
    leftover = Leftover(jnp.asarray(calibrated.residuals), arrays.targets)
    key = jax.random.key(seed + 1)
    fill = eqx.filter_jit(lambda m, left: bank_of(m, options.bank, window, recipe.nuisance, key, leftover=left))
    bank = fill(calibrated.model, leftover)
    return pretrain_encoder(
        calibrated.model, bank, recipe, config.plan, window=window, steps=options.schooling, seed=seed, watch=watch
    ), bank


def pretrain_encoder(
    model: UnMixNet,
    bank: Bank,
    recipe: Recipe,
    plan: TrainingPlan,
    *,
    window: int,
    steps: int,
    seed: int,
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
) -> UnMixNet:
    """Train the encoder, and the modulations that it drives, on virtual recordings alone."""
    if steps == 0:
        return model
    params, static = eqx.partition(model, eqx.is_inexact_array)
    row, unravel = ravel_pytree(params)
    schedule = optax.warmup_cosine_decay_schedule(0, plan.rate, max(1, steps // 20), steps, plan.rate / 100)
    chain = optax.chain(optax.clip_by_global_norm(plan.clip), optax.adamw(schedule, weight_decay=plan.decay))

    def loss(row, key):
        model = eqx.combine(unravel(row), static)
        return virtual_loss(model, bank, _MOST, window, recipe, key)

    @jax.jit
    def block(row, opt, start):
        def step(carry, number):
            row, opt = carry
            value, grad = jax.value_and_grad(loss)(row, jax.random.fold_in(jax.random.key(seed + 2), number))
            updates, opt = chain.update(grad, opt, row)
            return (row + updates, opt), value

        (row, opt), losses = jax.lax.scan(step, (row, opt), start + jnp.arange(_BLOCK))
        return row, opt, jnp.mean(losses)

    opt = chain.init(row)
    for start in range(0, steps, _BLOCK):
        row, opt, value = block(row, opt, jnp.asarray(start, jnp.int32))
        watch({"before": "virtual recordings", "step": start + _BLOCK, "of": steps, "value": float(value)})
    return eqx.combine(unravel(row), static)

"""Before the first epoch: the physics is calibrated and fills a bank of virtual recordings; the encoder learns them.

A resumed run does all of it again, to the bit.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree

from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.config import TrainConfig
from unmixnet.training.epoch import Arrays, Plan
from unmixnet.training.objective import Recipe, virtual_loss
from unmixnet.training.pretraining import calibrate_physics
from unmixnet.training.virtual import Bank, Leftover, bank_of

__all__ = ["school", "schooled"]

_BLOCK = 50
"""Steps between two looks at the clock."""
_MOST = 96
"""Virtual recordings in a step."""


def schooled(
    model: UnMixNet, arrays: Arrays, config: TrainConfig, seed: int, watch: Callable[[dict[str, Any]], None]
) -> tuple[UnMixNet, Bank | None]:
    """The model with calibrated physics and an encoder that has learned from it, and the bank if it is used."""
    told, recipe, window = config.training, config.recipe, config.window
    found = calibrate_physics(
        model,
        arrays,
        window=window,
        steps=told.calibration,
        polish=told.polish,
        nuisance=recipe.nuisance,
        seed=seed,
        watch=watch,
    )
    if told.virtual == 0 and told.schooling == 0:
        return found.model, None
    leftover = Leftover(jnp.asarray(found.residuals), arrays.targets)
    key = jax.random.key(seed + 1)
    fill = eqx.filter_jit(lambda m, left: bank_of(m, told.bank, window, recipe.nuisance, key, leftover=left))
    bank = fill(found.model, leftover)
    return school(
        found.model, bank, recipe, config.plan, window=window, steps=told.schooling, seed=seed, watch=watch
    ), bank


def school(
    model: UnMixNet,
    bank: Bank,
    recipe: Recipe,
    plan: Plan,
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

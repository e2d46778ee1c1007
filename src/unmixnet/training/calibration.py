r"""Calibration of the physics before the encoder learns: what the labels say about the coefficients.

    min  Σ_n mean (Y_n − [b + g_n (Ŷ(a_n, s_n) − b) + o_n])² + σ² (priors of s, g, o)

over the global coefficients, the strength s of every recording, and the gains g and offsets o of every session, which
are nuisances with Gaussian priors. The ratios a are the true ones. Gains belong to sessions: were they free in every
recording, a substance that is only recorded alone could not tell its sensitivities from them. An encoder that has to
guess strength and gain while the physics is still wrong hands its own noise to the coefficients; explicit nuisances do
not. What is left over, Y − Ŷ, is what this physics cannot say; virtual recordings carry it, so that the encoder trusts
the solver no more than it deserves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.epoch import Arrays
from unmixnet.training.virtual import Nuisance

__all__ = ["Calibrated", "calibrate_physics"]

_BLOCK = 25
"""Steps between two looks at the clock."""


class Nuisances(eqx.Module):
    """Strengths of recordings, gains and offsets of sessions."""

    log_strength: Float[Array, "*n"]
    log_gain: Float[Array, "*s M"]
    offset: Float[Array, "*s M"]

    def of(self, row: Int[Array, ""], session: Int[Array, ""]) -> "Nuisances":
        """Those of one recording."""
        return Nuisances(self.log_strength[row], self.log_gain[session], self.offset[session])


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
    rate: float = 1e-2,
    batch: int = 48,
    nuisance: Nuisance,
    seed: int = 0,
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
) -> Calibrated:
    """Fit the global coefficients to the first window of every training recording."""
    n, M = arrays.traces.shape[0], arrays.traces.shape[2]
    sessions = int(np.max(np.asarray(arrays.session))) + 1
    nothing = Nuisances(jnp.zeros(n), jnp.zeros((sessions, M)), jnp.zeros((sessions, M)))
    encoder, physics = model.encoder, eqx.tree_at(lambda m: m.encoder, model, None)
    params, static = eqx.partition(physics, eqx.is_inexact_array)
    chain = optax.adam(optax.warmup_cosine_decay_schedule(0, rate, max(1, steps // 20), steps, rate / 100))
    Y, a = arrays.traces[:, :window], arrays.targets
    batch = min(batch, n)

    def loss(found: tuple[Any, Nuisances], rows: Int[Array, " B"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        model = eqx.combine(found[0], static)
        mine = jax.vmap(found[1].of)(rows, arrays.session[rows])
        left = jax.vmap(partial(_residual, model))(Y[rows], a[rows], mine)
        misfit = jnp.mean(left**2)
        return misfit + nuisance.noise**2 * _prior(found[1], nuisance) / (n * left[0].size), misfit

    @jax.jit
    def block(found, opt, start):
        def step(carry, number):
            found, opt = carry
            key = jax.random.fold_in(jax.random.key(seed), number)
            rows = jax.random.permutation(key, n)[:batch]
            (_, misfit), grad = jax.value_and_grad(loss, has_aux=True)(found, rows)
            updates, opt = chain.update(grad, opt, found)
            moved = optax.apply_updates(found, updates)
            return (moved, opt), misfit

        (found, opt), misfit = jax.lax.scan(step, (found, opt), start + jnp.arange(_BLOCK))
        return found, opt, jnp.mean(misfit)

    found: Any = (params, nothing)
    opt = chain.init(found)
    for start in range(0, steps, _BLOCK):
        found, opt, misfit = block(found, opt, jnp.asarray(start, jnp.int32))
        watch({"calibration": start + _BLOCK, "of": steps, "rms": float(jnp.sqrt(misfit))})
    fitted = eqx.combine(found[0], static)
    every = jax.jit(lambda Y, a, mine: jax.lax.map(lambda one: _residual(fitted, *one), (Y, a, mine), batch_size=batch))
    mine = jax.vmap(found[1].of)(jnp.arange(n), arrays.session)
    residuals = np.asarray(every(Y, a, mine))
    return Calibrated(
        eqx.tree_at(lambda m: m.encoder, fitted, encoder, is_leaf=lambda leaf: leaf is None),
        residuals,
        float(np.sqrt(np.mean(residuals**2))),
        float(jnp.std(found[1].log_strength)),
        float(jnp.std(found[1].log_gain)),
    )


def _residual(
    model: UnMixNet, Y: Float[Array, "T M"], a: Float[Array, " K"], mine: Nuisances
) -> Float[Array, "steps M"]:
    """What the global coefficients leave of one recording."""
    typical = eqx.tree_at(lambda i: i.log_strength, model.uninformed(), mine.log_strength)
    air = model.transduction.baseline
    y = model.reconstruct(typical, Y[0], Y.shape[0], shares=a).y
    return model.observed(Y) - (air + mine.offset + jnp.exp(mine.log_gain) * (y - air))


def _prior(found: Nuisances, nuisance: Nuisance) -> Float[Array, ""]:
    """−2 ln of the Gaussian priors; what has no spread is held by a narrow one."""

    def term(value: Float[Array, "*any"], sd: float) -> Float[Array, ""]:
        return jnp.sum((value / max(sd, 1e-3)) ** 2)

    return (
        term(found.log_strength, nuisance.strength)
        + term(found.log_gain, nuisance.gain)
        + term(found.offset, nuisance.offset)
    )

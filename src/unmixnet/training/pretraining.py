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
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from unmixnet.model.unmixnet import UnMixNet
from unmixnet.training.epoch import Arrays
from unmixnet.training.gauss_newton import gauss_newton
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
    polish: int = 0,
    rate: float = 1e-2,
    batch: int = 48,
    nuisance: Nuisance,
    seed: int = 0,
    watch: Callable[[dict[str, Any]], None] = lambda entry: None,
) -> Calibrated:
    """Fit the global coefficients to the first window of every training recording.

    Arguments:
        steps: of Adam on random batches, which find the valley.
        polish: steps of Gauss–Newton on all recordings, which go down it.
    """
    n, M = arrays.traces.shape[0], arrays.traces.shape[2]
    sessions = int(np.max(np.asarray(arrays.session))) + 1
    nothing = Nuisances(jnp.zeros(n), jnp.zeros((sessions, M)), jnp.zeros((sessions, M)))
    encoder, physics = model.encoder, eqx.tree_at(lambda m: m.encoder, model, None)
    params, static = eqx.partition(physics, eqx.is_inexact_array)
    Y, a = arrays.traces[:, :window], arrays.targets

    def left(found: tuple[Any, Nuisances], rows: Int[Array, " B"]) -> Float[Array, "B steps M"]:
        mine = jax.vmap(found[1].of)(rows, arrays.session[rows])
        return jax.vmap(partial(_residual, eqx.combine(found[0], static)))(Y[rows], a[rows], mine)

    found: Any = (params, nothing)
    found = _rough(found, left, n, steps, rate, min(batch, n), nuisance, seed, watch)
    found = _fine(found, left, n, polish, nuisance, watch)
    residuals = np.asarray(jax.jit(left)(found, jnp.arange(n)))
    return Calibrated(
        eqx.tree_at(lambda m: m.encoder, eqx.combine(found[0], static), encoder, is_leaf=lambda leaf: leaf is None),
        residuals,
        float(np.sqrt(np.mean(residuals**2))),
        float(jnp.std(found[1].log_strength)),
        float(jnp.std(found[1].log_gain)),
    )


def _rough(
    found: Any,
    left: Callable[..., Any],
    n: int,
    steps: int,
    rate: float,
    batch: int,
    nuisance: Nuisance,
    seed: int,
    watch: Callable[[dict[str, Any]], None],
) -> Any:
    """Adam on random batches."""
    chain = optax.adam(optax.warmup_cosine_decay_schedule(0, rate, max(1, steps // 20), steps, rate / 100))

    def loss(found: Any, rows: Int[Array, " B"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        over = left(found, rows)
        misfit = jnp.mean(over**2)
        prior = sum(jnp.sum(part**2) for part in _prior(found[1], nuisance))
        return misfit + nuisance.noise**2 * prior / (n * over[0].size), misfit

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

    opt = chain.init(found)
    for start in range(0, steps, _BLOCK):
        found, opt, misfit = block(found, opt, jnp.asarray(start, jnp.int32))
        watch({"before": "physics", "step": start + _BLOCK, "of": steps, "value": float(jnp.sqrt(misfit))})
    return found


def _fine(
    found: Any,
    left: Callable[..., Any],
    n: int,
    iterations: int,
    nuisance: Nuisance,
    watch: Callable[[dict[str, Any]], None],
) -> Any:
    """Gauss–Newton on all recordings; every residual is weighed so that the sum of squares is the loss."""
    if iterations == 0:
        return found
    row, unravel = ravel_pytree(found)

    def residuals(row: Float[Array, " P"]) -> tuple[Any, Any]:
        found = unravel(row)
        over = left(found, jnp.arange(n))
        prior = [nuisance.noise * part / np.sqrt(over.size) for part in _prior(found[1], nuisance)]
        return over / np.sqrt(over.size), prior

    def tell(iteration: int, total: float) -> None:
        watch({"before": "physics, finer", "step": iteration + 1, "of": iterations, "value": float(np.sqrt(total))})

    return unravel(gauss_newton(residuals, row, iterations=iterations, watch=tell))


def _residual(
    model: UnMixNet, Y: Float[Array, "T M"], a: Float[Array, " K"], mine: Nuisances
) -> Float[Array, "steps M"]:
    """What the global coefficients leave of one recording."""
    typical = eqx.tree_at(lambda i: i.log_strength, model.uninformed(), mine.log_strength)
    air = model.transduction.baseline
    y = model.reconstruct(typical, Y[0], Y.shape[0], shares=a).y
    return model.observed(Y) - (air + mine.offset + jnp.exp(mine.log_gain) * (y - air))


def _prior(found: Nuisances, nuisance: Nuisance) -> list[Float[Array, "*any"]]:
    """Nuisances over their standard deviations; what has no spread is held by a narrow one."""
    spread = (nuisance.strength, nuisance.gain, nuisance.offset)
    values = (found.log_strength, found.log_gain, found.offset)
    return [value / max(sd, 1e-3) for value, sd in zip(values, spread, strict=True)]

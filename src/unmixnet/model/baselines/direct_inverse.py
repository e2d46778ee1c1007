r"""Direct Maxwell–Stefan inverse: no encoder; the solver is fitted to every window.

    min over a, ℓ, g of   mean (Y − Ŷ(a, ℓ, g))² + σ²/(n M) (Σ g²/s_g² + ℓ²/s_ℓ²),      a = softmax(o) on the simplex

Ŷ is the trace of a trained UnMixNet's solver with its global coefficients for ratios a, log strength ℓ and a log
gain g_m of each sensor over its clean-air level; σ is the noise of a sample, s_g and s_ℓ the spread of sessions and of
strengths. The unknowns are few and the objective is a sum of squares: Levenberg–Marquardt with the Jacobian by forward
mode, from several starts (equal shares, and the pure substances that explain the window best). A search
stops when an accepted step lowers its loss by less than 1e-4 of it, when no step lowers it, or at the step limit; the
best start is the answer.

Why not SciPy: all starts of a batch of windows descend together in one compiled program, whereas SciPy would take one
start at a time and call back for every residual and Jacobian.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from unmixnet.model.predict import check_channels
from unmixnet.model.unmixnet import UnMixNet

__all__ = ["InverseSettings", "Solution", "invert", "invert_all"]

_STUCK = 1e8
"""Damping at which a search is given up."""


class InverseSettings(eqx.Module):
    """How to search.

    Arguments:
        pure_starts: how many pure substances are started from, besides equal shares.
        most_steps: the limit.
        improvement: relative improvement of an accepted step under which the search stops.
        longest: largest step of an unknown, in logits or logarithms.
        noise, gain_sd, strength_sd: σ, s_g, s_ℓ; the first in units of the signal, the others of logarithms.
    """

    pure_starts: int = eqx.field(static=True, default=3)
    most_steps: int = 60
    improvement: float = 1e-4
    longest: float = 2.0
    noise: float = 0.02
    gain_sd: float = 0.1
    strength_sd: float = 0.25


class Latent(eqx.Module):
    """The unknowns."""

    logits: Float[Array, " K"]
    log_strength: Float[Array, ""]
    log_gain: Float[Array, " M"]


class Solution(eqx.Module):
    """The answer to one window."""

    a: Float[Array, " K"]
    """Ratios."""
    log_strength: Float[Array, ""]
    log_gain: Float[Array, " M"]
    loss: Float[Array, ""]
    steps: Int[Array, ""]
    """Steps of the best start."""


def played_back(model: UnMixNet, latent: Latent, Y: Float[Array, "T M"]) -> Float[Array, "n M"]:
    """Ŷ at the ends of the solver's steps; of Y only the first sample enters."""
    air, gain = model.transduction.baseline, jnp.exp(latent.log_gain)
    typical = eqx.tree_at(lambda i: i.log_strength, model.uninformed(), latent.log_strength)
    first = air + (Y[0] - air) / gain
    y = model.reconstruct(typical, first, Y.shape[0], shares=jax.nn.softmax(latent.logits)).y
    return air + gain * (y - air)


def residual(model: UnMixNet, latent: Latent, Y: Float[Array, "T M"], settings: InverseSettings) -> Float[Array, " n"]:
    """Vector whose squares sum up to the objective of the module."""
    misfit = jnp.ravel(model.observed(Y) - played_back(model, latent, Y))
    prior = jnp.append(latent.log_gain / settings.gain_sd, latent.log_strength / settings.strength_sd)
    return jnp.concatenate([misfit, settings.noise * prior]) / jnp.sqrt(misfit.size)


def invert(model: UnMixNet, Y: Float[Array, "T M"], settings: InverseSettings) -> Solution:
    """Fit one window; to be lifted by `vmap`."""
    K, M = model.species.shape[0] - 1, Y.shape[1]

    def start(logits: Float[Array, " K"]) -> Latent:
        return Latent(logits, jnp.zeros((), Y.dtype), jnp.zeros(M, Y.dtype))

    pure = jnp.log(0.8 * jnp.eye(K, dtype=Y.dtype) + 0.2 / K)
    losses = jax.vmap(lambda logits: jnp.sum(residual(model, start(logits), Y, settings) ** 2))(pure)
    best = jax.lax.top_k(-losses, min(settings.pure_starts, K))[1]
    starts = jax.vmap(start)(jnp.concatenate([jnp.zeros((1, K), Y.dtype), pure[best]]))
    ends = jax.vmap(lambda latent: _descend(model, latent, Y, settings))(starts)
    return jax.tree.map(lambda leaf: leaf[jnp.argmin(ends.loss)], ends)


def invert_all(
    model: UnMixNet, windows: np.ndarray, settings: InverseSettings | None = None, *, batch: int = 16
) -> Solution:
    """Fit many windows, shape (n, T, M), in batches of one size."""
    check_channels(model, windows)
    dtype = model.species.dtype
    search: InverseSettings = jax.tree.map(lambda value: jnp.asarray(value, dtype), settings or InverseSettings())
    filled = np.resize(windows, (-(-len(windows) // batch) * batch, *windows.shape[1:]))
    parts = [_invert_batch(model, jnp.asarray(part, dtype), search) for part in np.split(filled, len(filled) // batch)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(windows)], *jax.device_get(parts))


@eqx.filter_jit
def _invert_batch(model: UnMixNet, windows: Float[Array, "n T M"], settings: InverseSettings) -> Solution:
    return jax.vmap(lambda Y: invert(model, Y, settings))(windows)


class _Search(eqx.Module):
    """Where a search is: its best point with the linearisation there, and the point that is tried next."""

    x: Float[Array, " p"]
    r: Float[Array, " n"]
    J: Float[Array, "n p"]
    loss: Float[Array, ""]
    trial: Float[Array, " p"]
    damping: Float[Array, ""]
    steps: Int[Array, ""]
    going: Bool[Array, ""]


def _descend(model: UnMixNet, latent: Latent, Y: Float[Array, "T M"], settings: InverseSettings) -> Solution:
    """Levenberg–Marquardt from one start; the start itself is the first trial."""
    x, unravel = ravel_pytree(latent)

    def linearised(x: Float[Array, " p"]):
        return jax.jacfwd(lambda x: (residual(model, unravel(x), Y, settings),) * 2, has_aux=True)(x)

    def step(now: _Search) -> _Search:
        J, r = linearised(now.trial)
        loss = jnp.sum(r**2)
        helps = loss < now.loss
        little = helps & (now.loss - loss < settings.improvement * now.loss)
        x, r, J, loss = jax.tree.map(
            lambda new, old: jnp.where(helps, new, old), (now.trial, r, J, loss), (now.x, now.r, now.J, now.loss)
        )
        damping = jnp.where(helps, now.damping / 3, now.damping * 4)
        trial = x + _damped_step(J, r, damping, settings.longest)
        return _Search(x, r, J, loss, trial, damping, now.steps + 1, ~little & (damping < _STUCK))

    n, p = model.observed(Y).size + Y.shape[1] + 1, x.size
    nothing, none = jnp.zeros((n, p), x.dtype), jnp.asarray(jnp.inf, x.dtype)
    first = jnp.asarray(0.3, x.dtype)
    begin = _Search(x, nothing[:, 0], nothing, none, x, first, jnp.zeros((), jnp.int32), jnp.asarray(True))
    end = jax.lax.while_loop(lambda now: now.going & (now.steps < settings.most_steps), step, begin)
    best = unravel(end.x)
    return Solution(jax.nn.softmax(best.logits), best.log_strength, best.log_gain, end.loss, end.steps)


def _damped_step(
    J: Float[Array, "n p"], r: Float[Array, " n"], damping: Float[Array, ""], longest: float | Float[Array, ""]
) -> Float[Array, " p"]:
    """−(JᵀJ + λ diag JᵀJ)⁻¹ Jᵀr, no entry longer than allowed.

    A ratio near zero hardly moves the trace, and adding a constant to all logits does not at all: a floor under the
    diagonal keeps such steps finite.
    """
    H = J.T @ J
    size = jnp.diag(H)
    delta = jnp.linalg.solve(H + jnp.diag(damping * size + 1e-6 * jnp.max(size)), J.T @ r)
    return -jnp.clip(delta, -longest, longest)

r"""Levenberg–Marquardt over the free parameters, the nuisances of recordings and those of sessions, all at once.

    (H + μ diag H) s = −∇,    H = Σ_r J_rᵀ J_r + priors

Residuals are whitened (`losses`), so that H is the information that recordings and priors hold about everything.
A step that does not lower the loss is not taken.

Why not SciPy: a recording depends on the coefficients of its own few substances, its strength and exposure and the
gains of its session only, so that H is summed from small blocks, while `least_squares` with an exact solver wants the
whole Jacobian, which is mostly zeros. H itself is needed besides, as the Fisher information.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from unmixnet.training.calibration.forward import Nuisances, flat, observed, places_of, slopes, traces
from unmixnet.training.calibration.losses import L_H, L_Y, CalibrationWeights, L_mix, Noise, R, plain, whitened
from unmixnet.training.calibration.setup import Recordings
from unmixnet.training.calibration.theta import NuisancePrior

__all__ = ["CalibrationProblem", "LawFit", "Normal", "free_places", "levenberg_marquardt", "misfit", "normal_equations"]

_LONGEST = 1.0
"""Largest change of a logarithm in one step."""
_HELD = 1e-4
"""Standard deviation of a nuisance that is not one here."""


@dataclass(frozen=True, eq=False)
class CalibrationProblem:
    """Recordings, a law, and the priors.

    Arguments:
        forward: the law.
        free: fields of its parameters that move.
        recordings: those that are fitted.
        fingerprints: H_i, recordings without nuisances; may be empty.
        mean, sd: prior of every parameter, flat.
        prior: of the nuisances.
        weights, noise: of the loss.
        noise_H: of the fingerprints.
    """

    forward: Any
    free: frozenset[str]
    recordings: Recordings
    fingerprints: Recordings
    mean: np.ndarray
    sd: np.ndarray
    prior: NuisancePrior
    weights: CalibrationWeights
    noise: Noise
    noise_H: Noise


@dataclass(frozen=True, eq=False)
class LawFit:
    """Parameters and nuisances of a problem with the loss that they have."""

    params: Any
    nuisances: Nuisances
    loss: float
    iterations: int = 0


@dataclass(frozen=True, eq=False)
class Normal:
    """H and ∇ in the order: free parameters, strengths, exposures, gains, offsets.

    Arguments:
        places: of the free parameters in the row of all.
        data: the part of H that the recordings gave.
    """

    places: np.ndarray
    data: np.ndarray
    prior: np.ndarray
    gradient: np.ndarray

    @property
    def H(self) -> np.ndarray:
        """Information of recordings and priors together."""
        return self.data + np.diag(self.prior)


def levenberg_marquardt(
    problem: CalibrationProblem,
    params: Any,
    nuisances: Nuisances,
    *,
    iterations: int,
    tolerance: float = 2e-4,
    watch: Callable[[int, float], None] = lambda iteration, loss: None,
) -> LawFit:
    """Smaller loss, from a start; stops when a step gains less than `tolerance` of it."""
    fit, damping = LawFit(params, nuisances, misfit(problem, params, nuisances)), 1e-2
    for iteration in range(iterations):
        now = normal_equations(problem, fit.params, fit.nuisances)
        better, damping = _tried(problem, fit, now, damping)
        watch(iteration, better.loss)
        gained = fit.loss - better.loss
        fit = replace(better, iterations=iteration + 1)
        if gained <= tolerance * fit.loss:
            break
    return fit


def _tried(
    problem: CalibrationProblem, fit: LawFit, now: Normal, damping: float, most: int = 8
) -> tuple[LawFit, float]:
    """The first step that lowers the loss, with the damping for the next; the same fit if there is none."""
    H, diagonal = now.H, np.diag(now.H)
    for _ in range(most):
        step = -np.linalg.solve(H + damping * np.diag(diagonal), now.gradient)
        params, nuisances = _moved(fit, now, np.clip(step, -_LONGEST, _LONGEST))
        loss = misfit(problem, params, nuisances)
        if np.isfinite(loss) and loss < fit.loss:
            return LawFit(params, nuisances, loss), max(damping / 5, 1e-9)
        damping *= 5
    return fit, damping


def misfit(problem: CalibrationProblem, params: Any, nuisances: Nuisances) -> float:
    """λ_Y L_Y + λ_mix L_mix + λ_H L_H + λ_reg R + what the nuisances cost."""
    recordings, λ, noise = problem.recordings, problem.weights, problem.noise
    y, air = traces(problem.forward, params, recordings, nuisances.log_strength, nuisances.log_exposure)
    left = recordings.Y - observed(y, air, *nuisances.of(recordings.session))
    total = λ.Y * L_Y(left, noise) + λ.mix * L_mix(left[~recordings.pure], noise)
    if λ.H > 0 and len(problem.fingerprints):
        H = problem.fingerprints
        y, _ = traces(problem.forward, params, H, np.zeros(len(H)), np.zeros(len(H)))
        total += λ.H * L_H(H.Y - y, problem.noise_H)
    total += λ.reg * R((flat(params) - problem.mean) / problem.sd)
    return float(total + sum(np.sum((part / sd) ** 2) for part, sd in _with_sd(nuisances, problem.prior)))


def normal_equations(problem: CalibrationProblem, params: Any, nuisances: Nuisances) -> Normal:
    """H and ∇ (half of it) at a point."""
    free = free_places(params, problem.free)
    size = len(free) + sum(part.size for part, _ in _with_sd(nuisances, problem.prior))
    where = np.full(flat(params).size, -1)
    where[free] = np.arange(len(free))
    H, gradient = np.zeros((size, size)), np.zeros(size)
    blocks = [_recording_blocks(problem, params, nuisances, where, len(free))]
    if problem.weights.H > 0 and len(problem.fingerprints):
        blocks.append(_fingerprint_blocks(problem, params, where))
    for columns, J, r in (block for group in blocks for block in group):
        used = columns >= 0
        H[np.ix_(columns[used], columns[used])] += J[:, used].T @ J[:, used]
        np.add.at(gradient, columns[used], -J[:, used].T @ r)
    weight = [problem.weights.reg / problem.sd[free] ** 2]
    off = [(flat(params) - problem.mean)[free]]
    for part, sd in _with_sd(nuisances, problem.prior):
        weight.append(np.full(part.size, sd**-2.0))
        off.append(part.ravel())
    prior = np.concatenate(weight)
    return Normal(free, H, prior, gradient + prior * np.concatenate(off))


def _recording_blocks(problem: CalibrationProblem, params: Any, nuisances: Nuisances, where: np.ndarray, P: int):
    """(columns, J, residual) of every recording."""
    recordings, λ = problem.recordings, problem.weights
    n, T, M = recordings.Y.shape
    by = slopes(problem.forward, params, recordings, nuisances.log_strength, nuisances.log_exposure)
    gain, offset = nuisances.of(recordings.session)
    left = recordings.Y - observed(by.y, by.air, gain, offset)
    g = gain[:, None, :, None]
    eye = np.eye(M)
    J = np.concatenate(
        [
            g * by.y_theta + ((1 - g) * by.air_theta[:, None]),
            g * by.y_strength[..., None],
            g * by.y_exposure[..., None],
            (gain[:, None] * (by.y - by.air))[..., None] * eye,
            np.broadcast_to(eye, (n, T, M, M)),
        ],
        axis=-1,
    )
    columns = np.concatenate(
        [where[places_of(params, recordings)], _nuisance_columns(recordings, nuisances, P)], axis=1
    )
    rows = [(np.sqrt(λ.Y), whitened, np.ones(n))]
    if λ.mix > 0:
        rows.append((np.sqrt(λ.mix), plain, (~recordings.pure).astype(float)))
    for weight, weigh, mask in rows:
        r, K = weigh(left, problem.noise), weigh(J, problem.noise)
        for i in np.flatnonzero(mask):
            yield columns[i], weight * K[i].reshape(T * M, -1), weight * r[i].ravel()


def _fingerprint_blocks(problem: CalibrationProblem, params: Any, where: np.ndarray):
    """Likewise of the fingerprints, which have no nuisance."""
    H, zero = problem.fingerprints, np.zeros(len(problem.fingerprints))
    by = slopes(problem.forward, params, H, zero, zero)
    columns, weight = where[places_of(params, H)], np.sqrt(problem.weights.H)
    r, J = plain(H.Y - by.y, problem.noise_H), plain(by.y_theta, problem.noise_H)
    for i in range(len(H)):
        yield columns[i], weight * J[i].reshape(r[i].size, -1), weight * r[i].ravel()


def _nuisance_columns(recordings: Recordings, nuisances: Nuisances, P: int) -> np.ndarray:
    """Places of a recording's strength and exposure and of its session's gains and offsets; −1 without a session."""
    n, M = len(recordings), recordings.Y.shape[2]
    S = len(nuisances.log_gain)
    row, sensors = np.arange(n)[:, None], np.arange(M)
    gain = P + 2 * n + recordings.session[:, None] * M + sensors
    gain = np.where(recordings.session[:, None] >= 0, gain, -1)
    offset = np.where(gain >= 0, gain + S * M, -1)
    return np.concatenate([P + row, P + n + row, gain, offset], axis=1)


def _with_sd(nuisances: Nuisances, prior: NuisancePrior) -> list[tuple[np.ndarray, float]]:
    """Every nuisance with the standard deviation of its prior."""
    parts = (nuisances.log_strength, nuisances.log_exposure, nuisances.log_gain, nuisances.offset)
    spread = (prior.strength, prior.exposure, prior.gain, prior.offset)
    return [(part, max(sd, _HELD)) for part, sd in zip(parts, spread, strict=True)]


def free_places(params: Any, free: frozenset[str]) -> np.ndarray:
    """Places of the free fields in the row of all parameters."""
    marked = type(params)(
        **{each.name: jnp.full_like(getattr(params, each.name), float(each.name in free)) for each in fields(params)}
    )
    return np.flatnonzero(flat(marked) > 0)


def _moved(fit: LawFit, now: Normal, step: np.ndarray) -> tuple[Any, Nuisances]:
    """Parameters and nuisances after a step."""
    row, unravel = ravel_pytree(fit.params)
    new = np.array(row, float)
    new[now.places] += step[: len(now.places)]
    old, at, parts = fit.nuisances, len(now.places), []
    for part in (old.log_strength, old.log_exposure, old.log_gain, old.offset):
        parts.append(part + step[at : at + part.size].reshape(part.shape))
        at += part.size
    return unravel(jnp.asarray(new, row.dtype)), Nuisances(*parts)

r"""Maps of the signal that undo a session: clean air, offset, gain, prototype shift, ridge, gain through the solver.

The last fits the session in which the solver, given the labels, reproduces the references:

    min over ln g, o, s   Σ_n n_t · mean_t ((x_n − [b + g (ŷ_n(s_n) − b) + o]) / σ)² + n_t Σ ((x_air − b − o) / σ)²
                          + Σ (ln g / σ_g)² + Σ (o / σ_o)² + Σ_n (s_n / σ_s)²

ŷ_n(s) is the bundle's solution for label n at log strength s, b its clean-air level, σ its typical residual, x_air a
level measured in clean air. The strength of a reference is unknown: s is fitted too, with its prior, so that a strong
reference is not taken for a sensitive sensor. The problem is dense and has 2 M + k unknowns, and SciPy's trust-region
least squares solves it within bounds; ŷ is a cubic spline through the strengths that were solved. The map is the
inverse, x̂ = b + (x − b − o)/g.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import least_squares

from unmixnet.inference.session.calibration import AffineMap
from unmixnet.inference.session.references import STRENGTHS, Reference

__all__ = ["Priors", "fit_clean_air", "fit_gain", "fit_offset", "fit_prototype", "fit_ridge", "fit_solver_gain"]


def fit_clean_air(clean: np.ndarray, air: Sequence[float]) -> AffineMap:
    """From levels of k recordings of clean air, (k, M), and the bundle's clean-air signal, (M,)."""
    return AffineMap((1.0,) * clean.shape[1], tuple((np.array(air) - clean.mean(axis=0)).tolist()))


def fit_offset(session: np.ndarray, master: np.ndarray) -> AffineMap:
    """From levels of k references, (k, M) each."""
    return AffineMap((1.0,) * session.shape[1], tuple(np.mean(master - session, axis=0).tolist()))


def fit_gain(session: np.ndarray, master: np.ndarray, *, shrink: float = 0.3) -> AffineMap:
    """From levels of k references (and of clean air), (k, M) each; `shrink` is λ."""
    from_, to = session.mean(axis=0), master.mean(axis=0)
    x, y = session - from_, master - to
    floor = 1e-12
    gain = (np.sum(x * y, axis=0) + shrink + floor) / (np.sum(x**2, axis=0) + shrink + floor)
    return AffineMap(tuple(gain.tolist()), tuple((to - gain * from_).tolist()))


def fit_prototype(session: np.ndarray, master: np.ndarray, *, kappa: float = 1.0) -> AffineMap:
    """From levels of k references, (k, M) each."""
    k, M = session.shape
    return AffineMap((1.0,) * M, tuple((k / (k + kappa) * np.mean(master - session, axis=0)).tolist()))


_LAMBDAS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


def fit_ridge(session: np.ndarray, master: np.ndarray, *, shrink: float | None = None) -> AffineMap:
    """From levels of k references (and of clean air), (k, M) each; `shrink` is λ, chosen if not given."""
    if shrink is None:
        shrink = min(_LAMBDAS[::-1], key=lambda value: _left_out(session, master, value)) if len(session) > 2 else 1.0
    F, b = _solve(session, master, shrink)
    cross = F - np.diag(np.diag(F))
    return AffineMap(tuple(np.diag(F).tolist()), tuple(b.tolist()), tuple(map(tuple, cross.tolist())))


def _solve(session: np.ndarray, master: np.ndarray, shrink: float) -> tuple[np.ndarray, np.ndarray]:
    from_, to = session.mean(axis=0), master.mean(axis=0)
    x, y, identity = session - from_, master - to, np.eye(session.shape[1])
    F = np.linalg.solve(x.T @ x + (shrink + 1e-12) * identity, x.T @ y + (shrink + 1e-12) * identity).T
    return F, to - F @ from_


def _left_out(session: np.ndarray, master: np.ndarray, shrink: float) -> float:
    """Mean square error of references that were left out of the fit."""
    missed = 0.0
    for i in range(len(session)):
        keep = np.arange(len(session)) != i
        F, b = _solve(session[keep], master[keep], shrink)
        missed += float(np.sum((F @ session[i] + b - master[i]) ** 2))
    return missed


# ---------------------------------------------------------------- gain through the solver

_LARGEST_GAIN = 5.0
"""Bound of g, and of 1/g."""


@dataclass(frozen=True, eq=False)
class Priors:
    """How sessions differ.

    Arguments:
        air, noise: clean-air level, and typical residual of reconstructions, (M,).
        gain, offset, strength: standard deviations of ln g, o and s.
        independent: n_t, independent samples in a trace, whose residuals are smooth, not white.
    """

    air: np.ndarray
    noise: np.ndarray
    gain: float = 0.2
    offset: float = 1.0
    strength: float = 0.25
    independent: float = 5.0


def fit_solver_gain(references: Sequence[Reference], priors: Priors, clean: np.ndarray | None = None) -> AffineMap:
    """From references, and levels of clean air (n, M) if there are any."""
    air, M, k = priors.air, len(priors.air), len(references)
    signal = np.stack([reference.seen for reference in references])
    spline = CubicSpline(STRENGTHS, np.stack([reference.expected for reference in references]), axis=1)
    each = np.arange(k)
    # per sample, so that their squares add up to n_t times the mean over time
    weight = np.sqrt(priors.independent) / priors.noise
    per_sample = weight / np.sqrt(signal.shape[1])
    in_air = np.zeros((0, M)) if clean is None else clean - air

    def unpack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.exp(x[:M]), x[M : 2 * M], x[2 * M :]

    def residuals(x: np.ndarray) -> np.ndarray:
        gain, offset, strength = unpack(x)
        misfit = signal - (air + offset + gain * (spline(strength)[each, each] - air))
        return np.concatenate([np.ravel(misfit * per_sample), np.ravel((in_air - offset) * weight), x / prior_sd])

    def jacobian(x: np.ndarray) -> np.ndarray:
        gain, _, strength = unpack(x)
        by_gain = -gain * (spline(strength)[each, each] - air)
        by_strength = -gain * spline(strength, 1)[each, each]
        eye = np.eye(M)
        steps = np.broadcast_to(eye, (*signal.shape, M))
        J = np.concatenate(
            [by_gain[..., None] * eye, -steps, by_strength[..., None] * np.eye(k)[:, None, None]], axis=-1
        )
        J_air = np.zeros((len(in_air), M, 2 * M + k))
        J_air[:, :, M : 2 * M] = -eye
        rows = [(J * per_sample[:, None]).reshape(-1, 2 * M + k), (J_air * weight[:, None]).reshape(-1, 2 * M + k)]
        return np.concatenate([*rows, np.diag(1 / prior_sd)])

    prior_sd = np.repeat([priors.gain, priors.offset, priors.strength], [M, M, k])
    bound = np.repeat([np.log(_LARGEST_GAIN), np.inf, STRENGTHS[-1]], [M, M, k])
    gain, offset, _ = unpack(
        least_squares(
            residuals,
            np.zeros(2 * M + k),
            jac=jacobian,  # pyright: ignore[reportArgumentType]
            bounds=(-bound, bound),
            x_scale=prior_sd,
        ).x
    )
    return AffineMap(tuple((1 / gain).tolist()), tuple((air - (air + offset) / gain).tolist()))

r"""The signal that sensors settle at: competitive adsorption at equilibrium, and a power law of the conductance.

    y_m = o_{s,m} + n_m ln(1 + Σ_k A_mk a_k)

a are the shares of the substances, A_mk = β K c: what substance k alone adds to the conductance of sensor m, in units
of clean air, at the usual strength; n_m the exponent of the readout; o_{s,m} the level of sensor m in clean air in
session s. Conductance follows covered over empty sites, β θ_k/θ_0, whose equilibrium is K c_k (the extended Langmuir
isotherm of `physics/adsorption.py`). Substances share the surface: their signals do not add.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from unmixnet.errors import ConfigError

__all__ = [
    "Informed",
    "Steady",
    "SteadyPosterior",
    "fit_steady",
    "informed",
    "least_absolute_error",
    "mixtures",
    "steady_posterior",
    "student",
]


@dataclass(frozen=True, eq=False)
class Steady:
    """Coefficients of the law.

    Arguments:
        log_A: ln A, shape (M, K).
        log_n: ln n, shape (M,).
        levels: o, shape (sessions, M).
    """

    log_A: np.ndarray
    log_n: np.ndarray
    levels: np.ndarray

    def response(self, a: np.ndarray) -> np.ndarray:
        """Signal above clean air of mixtures of shape (n, K), as (n, M)."""
        return np.exp(self.log_n) * np.log1p(a @ np.exp(self.log_A).T)

    def slopes(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂y/∂ln A of shape (n, M, K) and ∂y/∂ln n of shape (n, M)."""
        A, n = np.exp(self.log_A), np.exp(self.log_n)
        load = a @ A.T
        return (n / (1 + load))[:, :, None] * a[:, None, :] * A, n * np.log1p(load)


def least_absolute_error(weights: np.ndarray, bank: np.ndarray) -> np.ndarray:
    """Shares of shape (n, K) from posterior weights (n, B) over mixtures (B, K)."""
    order = np.argsort(bank, axis=0)
    sorted_shares = np.take_along_axis(bank, order, axis=0)
    return np.stack([_point(row[order] / row.sum(), sorted_shares) for row in weights])


def _point(weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Bisection for the common level of probability; weights and shares in the order of shares, (B, K)."""
    reached = np.cumsum(weights, axis=0)
    last, columns = len(shares) - 1, np.arange(shares.shape[1])

    def quantile(q: float) -> np.ndarray:
        return shares[np.minimum(np.sum(reached < q, axis=0), last), columns]

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if quantile(middle).sum() > 1 else (middle, high)
    below, above = quantile(low), quantile(high)
    gap = above.sum() - below.sum()
    point = below + (np.clip((1 - below.sum()) / gap, 0, 1) if gap > 0 else 0) * (above - below)
    return point / point.sum()


_SIGMA = 0.05
"""Where ρ turns from squares to absolute values, in units of the signal (ln G)."""
_SPREAD_A, _SPREAD_N, _SPREAD_LEVEL = 1.0, 1.0, 0.4
"""τ: substances differ by factors of e, sessions by half the spread of all signals."""
_WEIGHT = 4.0
"""Of the priors: recordings of one recipe in one session repeat each other, and count for less than their number."""


def fit_steady(y: np.ndarray, a: np.ndarray, sessions: Sequence[int]) -> Steady:
    """The law that explains signals y (n, M) of mixtures a (n, K) in numbered sessions."""
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(a))):
        raise ConfigError("signals or shares that are not numbers", remedy="Leave such recordings out")
    problem = _SteadyProblem(y, a, np.asarray(sessions))
    M, K, S = problem.sizes
    start = np.concatenate([np.zeros(M * K + M), np.tile(y.mean(axis=0) - 1, S)])
    fit = least_squares(problem.residuals, start, jac=problem.jacobian, max_nfev=60, ftol=1e-6)  # pyright: ignore
    return problem.law(fit.x)


@dataclass(frozen=True, eq=False)
class _SteadyProblem:
    """Residuals whose squares add up to the sum above, over one row of ln A, ln n and o."""

    y: np.ndarray
    a: np.ndarray
    session: np.ndarray

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Sensors M, substances K, sessions S."""
        return self.y.shape[1], self.a.shape[1], int(self.session.max()) + 1

    def law(self, row: np.ndarray) -> Steady:
        M, K, S = self.sizes
        log_A, log_n, levels = np.split(row, (M * K, M * K + M))
        return Steady(log_A.reshape(M, K), log_n, levels.reshape(S, M))

    def left(self, law: Steady) -> np.ndarray:
        """(y − ŷ)/σ, shape (n, M)."""
        return (self.y - law.response(self.a) - law.levels[self.session]) / _SIGMA

    def residuals(self, row: np.ndarray) -> np.ndarray:
        return np.concatenate([_robust(self.left(self.law(row))).ravel(), self._prior() @ row])

    def jacobian(self, row: np.ndarray) -> np.ndarray:
        law, (M, _, S) = self.law(row), self.sizes
        by_A, by_n = law.slopes(self.a)
        steep, mine = -_robust_slope(self.left(law)) / _SIGMA, np.eye(M)
        by_level = np.einsum("ns,mp->nmsp", np.eye(S)[self.session], mine)
        parts = (by_A[:, :, None] * mine[..., None], by_n[..., None] * mine, by_level)
        top = [(steep.reshape(steep.shape + (1,) * (part.ndim - 2)) * part).reshape(steep.size, -1) for part in parts]
        return np.concatenate([np.concatenate(top, axis=1), self._prior()])

    def _prior(self) -> np.ndarray:
        """Its residuals are linear in the row; of levels only the departure from their mean counts."""
        M, K, S = self.sizes
        between = np.kron(np.eye(S) - 1 / S, np.eye(M))
        return np.sqrt(_WEIGHT) * block_diag(np.eye(M * K) / _SPREAD_A, np.eye(M) / _SPREAD_N, between / _SPREAD_LEVEL)


def _robust(r: np.ndarray) -> np.ndarray:
    """±√ρ, whose square is ρ."""
    return np.sign(r) * np.sqrt(2 * (np.sqrt(1 + r * r) - 1))


def _robust_slope(r: np.ndarray) -> np.ndarray:
    """Its derivative, 1 at zero."""
    root = np.abs(_robust(r))
    return np.where(root > 1e-6, np.abs(r) / (np.sqrt(1 + r * r) * np.where(root > 1e-6, root, 1)), 1)


_NEW = 0.3
"""p_new."""
_FREEDOM = 4.0
_BANK = 4096


@dataclass(frozen=True, eq=False)
class SteadyPosterior:
    """A fitted law and its bank of candidate mixtures.

    Arguments:
        bank: mixtures, shape (B, K), with prior probabilities `log_prior`.
        often: share of the training recordings in each session.
        C: covariance of the residuals.
        present: share of the training recordings that hold each substance.
    """

    law: Steady
    bank: np.ndarray
    log_prior: np.ndarray
    often: np.ndarray
    C: np.ndarray
    present: np.ndarray

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Posterior probability of every mixture in the bank for signals (n, M), shape (n, B)."""
        made, levels = self.law.response(self.bank), self.law.levels
        seen = [
            student(y[:, None] - made - level, self.C) + np.log((1 - _NEW) * share)
            for level, share in zip(levels, self.often, strict=True)
            if share > 0
        ]
        between = np.atleast_2d(np.cov(levels.T)) if len(levels) > 1 else np.zeros_like(self.C)
        new = student(y[:, None] - made - levels.mean(axis=0), self.C + between) + np.log(_NEW)
        log = np.logaddexp.reduce([*seen, new]) + self.log_prior
        odds = np.exp(log - log.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def shares(self, y: np.ndarray) -> np.ndarray:
        """Shares with the least expected absolute error, (n, K)."""
        return least_absolute_error(self.weights(y), self.bank)

    def presence(self, y: np.ndarray) -> np.ndarray:
        """Probability that each substance is there, (n, K)."""
        return self.weights(y) @ (self.bank > 0)


def steady_posterior(y: np.ndarray, a: np.ndarray, sessions: np.ndarray, *, seed: int = 0) -> SteadyPosterior:
    """Fit the law to labelled signals y (n, M), shares a (n, K) and numbered sessions, and draw the bank."""
    law = fit_steady(y, a, sessions.tolist())
    left = y - law.response(a) - law.levels[sessions]
    C = np.atleast_2d(np.cov(left.T)) + 1e-4 * np.eye(y.shape[1])
    counts = np.bincount(np.sum(a > 0, axis=1), minlength=4)[1:].astype(float)
    bank = mixtures(a.shape[1], counts / counts.sum(), _BANK, seed)
    common = np.log(a.mean(axis=0) + 0.01)
    log_prior = (bank > 0) @ common / np.sum(bank > 0, axis=1)
    often = np.bincount(sessions, minlength=len(law.levels)) / len(sessions)
    return SteadyPosterior(law, bank, log_prior, often, C, np.mean(a > 0, axis=0))


def mixtures(K: int, sizes: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Random mixtures (count, K): numbers of substances with probabilities `sizes`, shares uniform on the simplex."""
    rng = np.random.default_rng(seed)
    many = 1 + rng.choice(len(sizes), size=count, p=sizes)
    rank = np.argsort(np.argsort(rng.random((count, K)), axis=1), axis=1)
    parts = np.where(rank < np.minimum(many, K)[:, None], rng.exponential(size=(count, K)) + 1e-3, 0)
    return parts / parts.sum(axis=1, keepdims=True)


def student(z: np.ndarray, C: np.ndarray) -> np.ndarray:
    """ln of Student's density up to a constant, for deviations (n, B, M)."""
    L = np.linalg.cholesky(np.linalg.inv(C))
    square = np.sum((z @ L) ** 2, axis=2)
    return -0.5 * (_FREEDOM + z.shape[2]) * np.log1p(square / _FREEDOM) + np.sum(np.log(np.diag(L)))


_WORTH = 6.0
"""α, chosen on the sessions before the new ones, each left out in turn."""
_FLOOR = 0.1
"""Least spread of a level between sessions, in units of the signal."""


@dataclass(frozen=True, eq=False)
class Informed:
    """The posterior of a session that references were recorded in.

    Arguments:
        level, spread: μ and P of the session's sensors.
        log_prior: of every mixture in the bank, with what is about.
    """

    known: SteadyPosterior
    level: np.ndarray
    spread: np.ndarray
    log_prior: np.ndarray

    def shares(self, y: np.ndarray) -> np.ndarray:
        """Shares with the least expected absolute error for signals (n, M), shape (n, K)."""
        made = self.known.law.response(self.known.bank) + self.level
        log = student(y[:, None] - made, self.known.C + self.spread) + self.log_prior
        return least_absolute_error(np.exp(log - log.max(axis=1, keepdims=True)), self.known.bank)


def informed(known: SteadyPosterior, y: np.ndarray, a: np.ndarray, *, about: bool = True) -> Informed:
    """The posterior after references with signals y (k, M) and shares a (k, K).

    Arguments:
        about: whether the substances of the references are likelier than others; else they inform the levels alone.
    """
    levels, k = known.law.levels, len(y)
    between = np.cov(levels.T) if len(levels) > 1 else np.zeros_like(known.C)
    between = np.atleast_2d(between) + _FLOOR**2 * np.eye(y.shape[1])
    C, C_o = np.linalg.inv(known.C), np.linalg.inv(between)
    spread = np.linalg.inv(k * C + C_o)
    level = spread @ (C @ np.sum(y - known.law.response(a), axis=0) + C_o @ levels.mean(axis=0))
    return Informed(known, level, spread, known.log_prior + (_about(known, a) if about else 0))


def _about(known: SteadyPosterior, a: np.ndarray) -> np.ndarray:
    """ln of the odds Π π/(1 − π) of every mixture in the bank, equal on average for every number of substances."""
    here = known.bank > 0
    pi = (_WORTH * known.present + np.sum(a > 0, axis=0)) / (_WORTH + len(a))
    log = here @ np.log(pi / (1 - pi + 1e-3))
    sizes = here.sum(axis=1)
    for size in np.unique(sizes):
        same = sizes == size
        log[same] -= np.logaddexp.reduce(log[same]) - np.log(same.sum())
    return log

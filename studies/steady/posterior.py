r"""Which mixtures explain a steady signal: Bayes' rule over mixtures nobody had to record.

    p(a | y) ∝ p(a) [ Σ_s (1 − p_new) p_s t(y; ŷ(a) + o_s, C) + p_new t(y; ŷ(a) + ō, C + C_o) ]

The session is unknown: one of those in training, or a new one, whose level differs from their mean ō as theirs do
(covariance C_o). t is Student's density with four degrees of freedom, C the covariance of what the law left of
training recordings. p(a): as many substances as in training, each as frequent as there, shares uniform.
"""

from dataclasses import dataclass

import numpy as np

from studies.steady.fit import fit_steady
from studies.steady.law import Steady
from studies.steady.least_error import least_absolute_error

__all__ = ["SteadyPosterior", "mixtures", "steady_posterior", "student"]

_NEW = 0.3
"""p_new."""
_FREEDOM = 4.0
_BANK = 4096


@dataclass(frozen=True, eq=False)
class SteadyPosterior:
    """A fitted law and the mixtures that it is asked about.

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

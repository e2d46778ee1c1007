r"""What labelled recordings of the same session tell: the level of its sensors, and what is about.

    o | references ~ N(μ, P),     P = (k C⁻¹ + C_o⁻¹)⁻¹,     μ = P (C⁻¹ Σ (y_r − ŷ(a_r)) + C_o⁻¹ ō)
    π_i = (α p_i + k_i) / (α + k)

The level o of a new session differs from the mean ō of known ones as those do (covariance C_o), and every reference
shows it but for what the law leaves (C). A substance that k_i of k references hold is likelier to come again: p_i is
how often training has it, α how many references that is worth. Only which substances are there is told by π; how many
there are, and in which proportions, is not.
"""

from dataclasses import dataclass

import numpy as np

from studies.steady.posterior import SteadyPosterior, least_absolute_error, student

__all__ = ["Informed", "informed"]

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
        about: whether the substances of the references are likelier than others; else they tell levels alone.
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

r"""Where answers fail: pairs that are confused, errors that distance from training explains, what abstention catches.

    C_ij = Σ_r ℓ_ri g_rj / Σ_k g_rk  ÷  Σ_r a_ri      over recordings r that hold i and not j

a, â: true and answered shares; ℓ = max(a − â, 0) is what i lost, g = max(â − a, 0) what others gained, so that C_ij is
the share of i that was answered as j though j was not there. Where a substance is often answered, it is confused with
everything; E_ij = u_i v_j with the same sums of rows and columns says how much of C that alone explains.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = [
    "Correlation",
    "RiskCurve",
    "clustered",
    "confusion",
    "error_of",
    "gain_interval",
    "level_distance",
    "mantel",
    "overlap",
    "popularity",
    "rank_correlation",
    "risk_curve",
]

DRAWS = 2000
_LEAST_PAIRS = 4


@dataclass(frozen=True)
class Correlation:
    """A rank correlation, the 95 % range that goes with it, and how often chance does as well.

    Arguments:
        lo, hi: of the null where labels are permuted (`mantel`), of the estimate where groups are resampled
            (`clustered`).
        p: share of permutations that reach it; NaN where there are none.
        n: pairs or recordings.
    """

    rho: float
    lo: float
    hi: float
    p: float
    n: int


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """Mean error of the recordings that are still answered, the least doubtful first.

    Arguments:
        coverage: share that is answered, 1/n to 1.
        risk: by the score; `best`: if errors were known.
        lo, hi: 95 % of random orders.
        area: mean of `risk` over coverage; `random`: that of random orders, which is the mean error.
        p: share of random orders whose area is as small.
    """

    coverage: np.ndarray
    risk: np.ndarray
    best: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    area: float
    random: float
    p: float


def error_of(guess: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Mean |â − a| of each recording."""
    return np.mean(np.abs(np.asarray(guess, float) - np.asarray(truth, float)), axis=1)


def confusion(guess: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """C, shape (K, K): the share of substance i (row) that was answered as an absent j (column); NaN where never."""
    a, a_hat = np.asarray(truth, float), np.asarray(guess, float)
    lost, gained = np.maximum(a - a_hat, 0), np.maximum(a_hat - a, 0)
    given = gained / np.maximum(gained.sum(axis=1, keepdims=True), 1e-12)
    absent = (a <= 0).astype(float)
    moved, there = lost.T @ (given * absent), a.T @ absent
    C = np.where(there > 0, moved / np.where(there > 0, there, 1), np.nan)
    np.fill_diagonal(C, np.nan)
    return C


def popularity(C: np.ndarray, *, rounds: int = 200) -> np.ndarray:
    """E_ij = u_i v_j with the sums of rows and columns that C has off its diagonal."""
    known = np.isfinite(C)
    E = known.astype(float)
    rows, columns = np.nansum(C, axis=1), np.nansum(C, axis=0)
    for _ in range(rounds):
        E *= (rows / np.maximum(E.sum(axis=1), 1e-300))[:, None]
        E *= columns / np.maximum(E.sum(axis=0), 1e-300)
    return np.where(known, E, np.nan)


def mantel(
    first: np.ndarray,
    second: np.ndarray,
    *,
    given: np.ndarray | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Correlation:
    """Rank correlation of two tables of pairs (K, K), both made symmetric, against permuted names of substances.

    Pairs that share a substance are not independent: names are permuted, not pairs.

    Arguments:
        given: a third table whose ranks are partialled out of both.
    """
    A, B = (0.5 * (table + table.T) for table in (np.asarray(first, float), np.asarray(second, float)))
    i, j = np.triu_indices(len(A), 1)
    i, j = (side[np.isfinite(A[i, j]) & np.isfinite(B[i, j])] for side in (i, j))
    if len(i) < _LEAST_PAIRS:
        nothing = float("nan")
        return Correlation(nothing, nothing, nothing, nothing, len(i))
    a, b = _ranks(A[i, j]), _ranks(B[i, j])
    if given is not None:
        z = _ranks(np.asarray(given, float)[i, j])
        a, b = (ranked - (ranked @ z) / max(float(z @ z), 1e-300) * z for ranked in (a, b))
    ranks = np.zeros_like(B)
    ranks[i, j] = ranks[j, i] = b
    rng = np.random.default_rng(seed)
    orders = np.stack([np.arange(len(B)), *(rng.permutation(len(B)) for _ in range(draws))])
    permuted = ranks[orders[:, i], orders[:, j]]
    size = np.sqrt(np.sum(a**2) * np.sum(permuted**2, axis=1))
    rho = permuted @ a / np.maximum(size, 1e-300)
    lo, hi = np.quantile(rho[1:], [0.025, 0.975])
    p = np.mean(rho >= rho[0] - 1e-12)
    return Correlation(float(rho[0]), float(lo), float(hi), float(p), len(i))


def overlap(counts: np.ndarray) -> np.ndarray:
    """Σ_s min(p_is, p_js), shape (K, K): how far two substances were recorded in the same sessions, 0 to 1.

    Arguments:
        counts: recordings of session s that hold substance i, shape (K, sessions).
    """
    p = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return np.minimum(p[:, None], p[None]).sum(axis=2)


def clustered(x: np.ndarray, y: np.ndarray, groups: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> Correlation:
    """Rank correlation with an interval from resampling whole groups, as recordings of a session go together."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    known = np.isfinite(x) & np.isfinite(y)
    names = np.asarray(groups)[known]
    x, y = x[known], y[known]
    members = [np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())]
    rng, correlations = np.random.default_rng(seed), []
    for _ in range(draws):
        rows = np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])
        correlations.append(rank_correlation(x[rows], y[rows]))
    lo, hi = np.nanquantile(correlations, [0.025, 0.975])
    return Correlation(rank_correlation(x, y), float(lo), float(hi), float("nan"), len(x))


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's ρ; NaN where one of them never changes."""
    a, b = _ranks(x), _ranks(y)
    size = float(np.sqrt(np.sum(a**2) * np.sum(b**2)))
    return float(np.sum(a * b) / size) if size > 0 else float("nan")


def _ranks(x: np.ndarray) -> np.ndarray:
    """Ranks, around zero; equal values share theirs."""
    from scipy.stats import rankdata

    ranks = rankdata(x)
    return ranks - ranks.mean()


def level_distance(levels: np.ndarray, training: np.ndarray, same: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each level from the nearest of training, and from the mean of those that hold the same.

    Both are RMS over channels, in standard deviations of the training levels.

    Arguments:
        levels, training: shapes (n, M) and (m, M).
        same: whether training recording k holds what recording r holds, shape (n, m).
    """
    sd = np.maximum(training.std(axis=0), 1e-12)
    y, z = levels / sd, training / sd
    nearest = np.sqrt(np.min(np.mean((y[:, None] - z[None]) ** 2, axis=2), axis=1))
    count = same.sum(axis=1)
    mean = same.astype(float) @ z / np.maximum(count, 1)[:, None]
    drift = np.sqrt(np.mean((y - mean) ** 2, axis=1))
    return nearest, np.where(count > 0, drift, np.nan)


def risk_curve(score: np.ndarray, error: np.ndarray, *, draws: int = DRAWS, seed: int = 0) -> RiskCurve:
    """The curve of a score that is large where an answer should be withheld."""
    score, error = np.asarray(score, float), np.asarray(error, float)
    n = len(error)
    counts = np.arange(1, n + 1)
    risk, best = (np.cumsum(error[order]) / counts for order in (np.argsort(score, kind="stable"), np.argsort(error)))
    rng = np.random.default_rng(seed)
    chance = np.stack([np.cumsum(rng.permutation(error)) for _ in range(draws)]) / counts
    lo, hi = np.quantile(chance, [0.025, 0.975], axis=0)
    p = (1 + np.sum(chance.mean(axis=1) <= risk.mean())) / (draws + 1)
    return RiskCurve(counts / n, risk, best, lo, hi, float(risk.mean()), float(error.mean()), float(p))


def gain_interval(
    score: np.ndarray, error: np.ndarray, groups: Sequence[str], *, draws: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """95 % interval of the area under a score's curve less that of chance, from resampling whole groups.

    Recordings of one recipe resemble each other: a score that depends on the recipe looks better than it is.
    """
    score, error, names = np.asarray(score, float), np.asarray(error, float), np.asarray(groups)
    members = [np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())]
    rng, gains = np.random.default_rng(seed), []
    for _ in range(draws):
        rows = np.concatenate([members[i] for i in rng.integers(len(members), size=len(members))])
        sorted_error = error[rows][np.argsort(score[rows], kind="stable")]
        gains.append(np.mean(np.cumsum(sorted_error) / np.arange(1, len(rows) + 1)) - sorted_error.mean())
    lo, hi = np.quantile(gains, [0.025, 0.975])
    return float(lo), float(hi)

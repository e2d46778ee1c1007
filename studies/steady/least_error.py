r"""The point of a posterior with the least expected absolute error on the simplex.

    min_{â ∈ Δ} E Σ_k |a_k − â_k|:     â_k is the q-quantile of a_k, with one q for all k, chosen so that Σ â_k = 1

(Lagrange: P(a_k ≤ â_k) is the same for every k.) The mean, which is best for squared errors, spreads a little of
everything over substances that are probably absent.
"""

import numpy as np

__all__ = ["least_absolute_error"]


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
    found = below + (np.clip((1 - below.sum()) / gap, 0, 1) if gap > 0 else 0) * (above - below)
    return found / found.sum()

"""Theorem 1: below the coherence bound sparse mixtures are unique; at the bound they need not be."""

from itertools import combinations

import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.recordings.coherence import (
    Coherence,
    coherence_matrix,
    draw_coherence,
    guaranteed_sparsity,
)


def sparse_explanations(H: np.ndarray, y: np.ndarray, s: int, *, tolerance: float = 1e-9) -> tuple[np.ndarray, ...]:
    """Every mixture of at most s components that explains y exactly, found by trying all supports.

    A mixture is returned once, with its true support; exhaustive, so for small K only.
    """
    mixtures: list[np.ndarray] = []
    for support in combinations(range(H.shape[1]), s):
        part, *_ = np.linalg.lstsq(H[:, support], y, rcond=None)
        if np.linalg.norm(H[:, support] @ part - y) <= tolerance * np.linalg.norm(y):
            a = np.zeros(H.shape[1])
            a[list(support)] = np.where(np.abs(part) > tolerance, part, 0)
            if not any(np.allclose(a, other, atol=1e-7) for other in mixtures):
                mixtures.append(a)
    return tuple(mixtures)


def _mu(H: np.ndarray) -> float:
    matrix = coherence_matrix(H)
    return float(matrix[~np.eye(len(matrix), dtype=bool)].max())


def _incoherent(K: int, rows: int, below: float, seed: int = 0) -> np.ndarray:
    """K unit columns pushed apart until their coherence is below the bound."""
    H = np.random.default_rng(seed).normal(size=(rows, K))
    for _ in range(2000):
        H /= np.linalg.norm(H, axis=0)
        G = H.T @ H
        if np.abs(G - np.eye(K)).max() < below:
            return H
        H = H - 0.1 * H @ np.where(np.abs(G) > 0.7 * below, G - np.eye(K), 0)
    raise AssertionError("no incoherent matrix found")


TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]).T / np.sqrt(3)


@pytest.mark.parametrize(("s", "K", "rows"), [(1, 12, 5), (2, 10, 16), (3, 9, 40)])
def test_below_the_bound_every_sparse_mixture_is_recovered_and_alone(s, K, rows):
    H = _incoherent(K, rows, below=1 / (2 * s - 1) if s > 1 else 0.999)
    assert _mu(H) < 1 / (2 * s - 1) and guaranteed_sparsity(_mu(H)) >= s
    rng = np.random.default_rng(1)
    for size in range(1, s + 1):
        for support in combinations(range(K), size):
            a = np.zeros(K)
            a[list(support)] = rng.dirichlet(np.ones(size)) * 0.9 + 0.1 / size
            explanations = sparse_explanations(H, H @ a, s)
            assert len(explanations) == 1
            assert explanations[0] == pytest.approx(a, abs=1e-7)


def test_at_the_bound_two_mixtures_of_two_smell_the_same():
    """Four directions of a tetrahedron, two of them reversed: μ = 1/3 exactly, and h₁ + h₂ = h₃ + h₄."""
    H = TETRAHEDRON * np.array([1, 1, -1, -1])
    assert _mu(H) == pytest.approx(1 / 3)
    first, second = np.array([0.5, 0.5, 0, 0]), np.array([0, 0, 0.5, 0.5])
    assert H @ first == pytest.approx(H @ second)
    mixtures = sparse_explanations(H, H @ first, 2)
    assert len(mixtures) == 2
    assert guaranteed_sparsity(_mu(H)) == 1


def test_parallel_fingerprints_do_not_even_identify_a_single_component():
    H = np.array([[1.0, 2.0], [1.0, 2.0]])
    assert guaranteed_sparsity(_mu(H)) == 0
    assert len(sparse_explanations(H, H[:, 0], 1)) == 2


@pytest.mark.parametrize(("mu", "s"), [(1.0, 0), (0.999, 1), (1 / 3, 1), (0.333, 2), (0.2, 2), (0.199, 3), (0.01, 50)])
def test_the_guarantee_is_strict(mu, s):
    assert guaranteed_sparsity(mu) == s
    assert s == 0 or mu < 1 / (2 * s - 1)
    assert not mu < 1 / (2 * s + 1)


def test_a_component_without_a_trace_is_refused():
    with pytest.raises(ConfigError, match="no trace"):
        coherence_matrix(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_the_figure_draws_a_line_for_each_confused_pair_only():
    raw = np.ones((3, 3))
    whitened = np.array([[1, 0.95, 0.2], [0.95, 1, 0.6], [0.2, 0.6, 1]])
    result = Coherence(("almond", "apple", "pear"), raw, whitened)
    assert result.confusable() == (("almond", "apple", 0.95),)
    lines = draw_coherence(result).axes[0].lines
    assert len(lines) == 2 + 1  # two pairs above 0.5, and the nodes

"""Mutual coherence of fingerprints, and what Theorem 1 makes of it.

    μ(H) = max_{i≠j} |h_iᵀ h_j| / (‖h_i‖ ‖h_j‖)

Theorem 1: an s-sparse mixture is uniquely identifiable from y = H a if μ(H) < 1/(2s − 1). The condition is
sufficient and
sharp: at equality there are fingerprints, and two mixtures of s components, with the same y.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.fingerprints import Fingerprints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Coherence",
    "coherence",
    "coherence_matrix",
    "draw_coherence",
    "guaranteed_sparsity",
]


@dataclass(frozen=True, eq=False)
class Coherence:
    """Which components an array can tell apart: coherence of every pair, raw and whitened."""

    components: tuple[str, ...]
    raw: np.ndarray
    whitened: np.ndarray

    @property
    def mu_raw(self) -> float:
        """Coherence of the raw fingerprints; close to 1 for metal-oxide arrays."""
        return _largest(self.raw)

    @property
    def mu_whitened(self) -> float:
        """Coherence after centring and whitening by the noise."""
        return _largest(self.whitened)

    @property
    def guaranteed(self) -> int:
        """Up to how many components Theorem 1 guarantees recovery, from the whitened fingerprints."""
        return guaranteed_sparsity(self.mu_whitened)

    def confusable(self, above: float = 0.9) -> tuple[tuple[str, str, float], ...]:
        """Pairs whose whitened fingerprints are more coherent than that, the worst first."""
        pairs = [
            (self.components[i], self.components[j], float(self.whitened[i, j]))
            for i, j in combinations(range(len(self.components)), 2)
            if self.whitened[i, j] > above
        ]
        return tuple(sorted(pairs, key=lambda pair: -pair[2]))


def coherence(prints: Fingerprints) -> Coherence:
    """Coherence of all pairs of fingerprints."""
    return Coherence(prints.components, coherence_matrix(prints.matrix), coherence_matrix(prints.whitened))


def coherence_matrix(H: np.ndarray) -> np.ndarray:
    """|h_iᵀ h_j| / (‖h_i‖ ‖h_j‖) for columns h of H, shape (K, K)."""
    norms = np.linalg.norm(H, axis=0)
    if np.any(norms == 0):
        raise ConfigError(
            f"fingerprint {int(np.argmin(norms))} is zero: that component leaves no trace",
            remedy="Leave the component out, or use another response",
        )
    unit = H / norms
    return np.abs(unit.T @ unit)


def guaranteed_sparsity(mu: float) -> int:
    """Largest s with μ < 1/(2s − 1) beyond rounding; 0 if not even single components are told apart."""
    if not mu > 0:
        raise ConfigError(f"a coherence lies between 0 and 1, saw {mu}", remedy="Orthogonal columns: any s")
    s = max(int((1 / mu + 1) / 2) - 1, 0)
    while mu < 1 / (2 * s + 1) - 1e-12:
        s += 1
    return s


def draw_coherence(result: Coherence, *, above: float = 0.5) -> "Figure":
    """Components on a circle; a line joins those that the array confuses, the thicker the more."""
    from matplotlib.figure import Figure

    K = len(result.components)
    angle = np.pi / 2 - 2 * np.pi * np.arange(K) / K
    x, y = np.cos(angle), np.sin(angle)
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    axes = figure.subplots()
    for i, j in combinations(range(K), 2):
        mu = result.whitened[i, j]
        if mu > above:
            strength = (mu - above) / (1 - above)
            colour = "#e4572e" if mu > 0.9 else "#f2b134"
            axes.plot(x[[i, j]], y[[i, j]], color=colour, lw=0.5 + 5 * strength, alpha=0.35 + 0.6 * strength)
    axes.plot(x, y, "o", ms=11, color="#0b7a75", zorder=3)
    for name, a, b in zip(result.components, x, y, strict=True):
        side = "center" if abs(a) < 0.2 else "left" if a > 0 else "right"
        axes.text(1.09 * a, 1.09 * b, name, ha=side, va="center", fontsize=10)
    axes.set_title(
        f"Whitened coherence above {above:g} (red: above 0.9)\n"
        f"μ = {result.mu_whitened:.3f} (raw {result.mu_raw:.4f}); "
        f"Theorem 1 guarantees up to {result.guaranteed} component(s)",
        fontsize=10,
    )
    axes.set_xlim(-1.55, 1.55)
    axes.set_ylim(-1.25, 1.25)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure


def _largest(matrix: np.ndarray) -> float:
    return float(np.max(matrix[~np.eye(len(matrix), dtype=bool)]))

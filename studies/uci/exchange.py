r"""Gas of earlier set points: a flow-through chamber takes time to exchange, its walls and the sensors' caps longer.

    m_k ← c + (m_k − c) e^{−(d − δ)₊/τ_k},   k = fast, slow;        x_i = (1 − w_i) m_fast,i + w_i m_slow,i

c is the set point [any unit], d the time since it was set [s], δ the transport delay [s], τ_fast = V/F of the chamber,
τ_slow that of walls and caps, w_i the share of gas i that exchanges slowly. x is the concentration that the sensors
feel at the end of the set point. The group that matters is (d − δ)/τ_fast: under one, the reading is that of the set
point *before*.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Exchange", "Pools"]


@dataclass(frozen=True, eq=False)
class Pools:
    """Concentration of each gas in the fast and in the slow pool, shape (2, G)."""

    m: np.ndarray

    @classmethod
    def clean(cls, gases: int) -> "Pools":
        """Clean air since long."""
        return cls(np.zeros((2, gases)))


@dataclass(frozen=True, eq=False)
class Exchange:
    """How fast a rig follows its set points.

    Arguments:
        delay_s: δ.
        tau_s: τ_fast and τ_slow, shape (2,).
        slow: w, shape (G,), between 0 and 1.
    """

    delay_s: float
    tau_s: np.ndarray
    slow: np.ndarray

    def kept(self, duration_s: float) -> np.ndarray:
        """Share of the old gas that each pool still holds after a set point of this length, shape (2,)."""
        return np.exp(-max(duration_s - self.delay_s, 0.0) / self.tau_s)

    def after(self, pools: Pools, c: np.ndarray, duration_s: float) -> Pools:
        """Pools after a set point."""
        return Pools(c + (pools.m - c) * self.kept(duration_s)[:, None])

    def felt(self, pools: Pools) -> np.ndarray:
        """x, what the sensors feel, shape (G,)."""
        return (1 - self.slow) * pools.m[0] + self.slow * pools.m[1]

    def affine(self, pools: Pools, duration_s: float) -> tuple[np.ndarray, np.ndarray]:
        """x = offset + share · c at the end of a set point c: what is left over, and how much of c has arrived."""
        kept = self.kept(duration_s)
        left = self.felt(Pools(pools.m * kept[:, None]))
        return left, (1 - self.slow) * (1 - kept[0]) + self.slow * (1 - kept[1])

    def along(self, set_points: np.ndarray, duration_s: np.ndarray, start: Pools | None = None) -> np.ndarray:
        """x at the end of each of a sequence of set points, shape (N, G), from clean air unless told otherwise."""
        share = np.exp(-np.maximum(duration_s - self.delay_s, 0)[:, None] / self.tau_s)
        fast, slow = (start or Pools.clean(set_points.shape[1])).m
        x = np.empty_like(set_points, dtype=float)
        for n, c in enumerate(set_points):
            fast, slow = c + (fast - c) * share[n, 0], c + (slow - c) * share[n, 1]
            x[n] = (1 - self.slow) * fast + self.slow * slow
        return x

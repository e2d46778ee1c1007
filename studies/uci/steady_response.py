r"""Steady response of metal-oxide sensors to a mixture: competitive adsorption, then a monotone readout.

    θ_i = (K_i x_i)^{n_i} / (1 + Σ_j (K_j x_j)^{n_j}),      ln G = b + γ ln(1 + Σ_i S_i θ_i)

x_i is the concentration at the sensor (in units of `SCALE_PPM`), K_i the affinity [1/unit], n_i the Sips exponent (1:
Langmuir), S_i how many times the conductance of air a surface full of gas i would add, γ the exponent of the readout
(1: conductance linear in coverage), b the logarithm of the conductance in air. The fit works with the initial slope
A_i = S_i K_i^{n_i}, which the data determine also where they never saturate a sensor (K → 0, A fixed: the law of
Clifford and Tuma).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["COLUMNS", "SCALE_PPM", "TYPES", "Exchange", "Form", "Pools", "columns", "response"]

SCALE_PPM = {"methane": 100.0, "ethylene": 10.0, "CO": 100.0}
"""Concentrations are counted in these units, so that all parameters are of order one."""
TYPES = ("TGS2602", "TGS2600", "TGS2610", "TGS2620")
"""Sensors s01…s16 are two of each, twice."""
COLUMNS = ("b", "log A1", "log A2", "log K1", "log K2", "log γ", "log n1", "log n2")
"""Parameters of one sensor for two gases."""
_START = (0.0, 1.5, 1.5, -1.0, -1.0, -0.4, 0.0, 0.0)


@dataclass(frozen=True)
class Form:
    """Which parameters are fitted, and which are shared by the four sensors of one type.

    Arguments:
        name: for tables.
        fitted: columns that are free; γ and n are 1 and K is 0 where they are not.
        per_type: fitted columns with one value for each sensor type; the others have one for each sensor.
        drift: how the conductance of air may change: not, as a rig that warms up, or in proportion to time.
        recency_s: a row counts e^{−age/recency}; infinite lets all rows count alike.
    """

    name: str
    fitted: tuple[str, ...]
    per_type: tuple[str, ...] = ()
    drift: Literal["none", "warming", "linear"] = "none"
    recency_s: float = np.inf


def columns(form: Form, sensors: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Place of each sensor's parameters in one vector (M, 8; −1 where fixed), a start for the vector, and its names."""
    place = np.full((sensors, len(COLUMNS)), -1)
    start: list[float] = []
    names: list[str] = []
    for j, column in enumerate(COLUMNS):
        if column not in form.fitted:
            continue
        shared = column in form.per_type
        owner = [m // 2 % len(TYPES) for m in range(sensors)] if shared else list(range(sensors))
        place[:, j] = len(start) + np.array(owner)
        count = max(owner) + 1
        start += [_START[j]] * count
        names += [f"{column} {TYPES[i] if shared else f's{i + 1:02d}'}" for i in range(count)]
    return place, np.array(start), tuple(names)


def response(P: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ln G of every sensor, shape (N, M), and its derivatives by P (N, M, 8) and by x (N, M, 2).

    Arguments:
        P: parameters, shape (M, 8), in the order of `COLUMNS`; log K = −inf for no saturation.
        x: concentrations at the sensors, shape (N, 2).
    """
    b, A, K, gamma, n = P[:, 0], np.exp(P[:, 1:3]), np.exp(P[:, 3:5]), np.exp(P[:, 5]), np.exp(P[:, 6:8])
    safe = np.maximum(x, 1e-9)[:, None, :]
    u = safe**n  # (N, M, 2)
    D = 1 + np.sum(K**n * u, axis=2)
    top = np.sum(A * u, axis=2)
    y = b + gamma * np.log1p(top / D)
    outer = gamma / (D + top)  # dy = outer · (dtop − (top/D) dD)
    share = (top / D)[..., None]
    by_u = outer[..., None] * (A - share * K**n)
    by_P = np.empty((*y.shape, len(COLUMNS)))
    by_P[..., 0] = 1
    by_P[..., 1:3] = outer[..., None] * A * u
    by_P[..., 3:5] = -outer[..., None] * share * n * K**n * u
    by_P[..., 5] = gamma * np.log1p(top / D)
    log_K = np.where(K > 0, np.log(np.where(K > 0, K, 1)), 0.0)
    by_P[..., 6:8] = n * u * (by_u * np.log(safe) - outer[..., None] * share * K**n * log_K)
    return y, by_P, by_u * n * u / safe


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
        """x, the concentration at the sensors, shape (G,)."""
        return (1 - self.slow) * pools.m[0] + self.slow * pools.m[1]

    def affine(self, pools: Pools, duration_s: float) -> tuple[np.ndarray, np.ndarray]:
        """x = offset + share · c at the end of a set point c: what is left over, and how much of c has arrived."""
        kept = self.kept(duration_s)
        left = self.felt(Pools(pools.m * kept[:, None]))
        return left, (1 - self.slow) * (1 - kept[0]) + self.slow * (1 - kept[1])

    def along(self, set_points: np.ndarray, duration_s: np.ndarray, start: Pools | None = None) -> np.ndarray:
        """x at the end of each of a sequence of set points, shape (N, G), by default from clean air."""
        share = np.exp(-np.maximum(duration_s - self.delay_s, 0)[:, None] / self.tau_s)
        fast, slow = (start or Pools.clean(set_points.shape[1])).m
        x = np.empty_like(set_points, dtype=float)
        for n, c in enumerate(set_points):
            fast, slow = c + (fast - c) * share[n, 0], c + (slow - c) * share[n, 1]
            x[n] = (1 - self.slow) * fast + self.slow * slow
        return x

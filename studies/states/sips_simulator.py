r"""A second simulator that shares no law with UnMixNet's solver, for states that do not favour it.

    gas        dc/dt = −Q/V upwind + D_i ∇²c      Fick, each odorant on its own; tube with dead-end pockets, 10 cells
    release    q_i = h_i (a_i e^{(1−a_i)²} s_i e^{−t/τ_i} − c_{jar,i})      a film that dries and saturates
    coverage   dθ_{m,i}/dt = k_m (θ°_{m,i} − θ_{m,i}),  θ°_i = (b_i c_i)^{n_m} / (1 + Σ_j (b_j c_j)^{n_m})      Sips
    signal     u_m = (Σ_i S_{m,i} θ_{m,i})^{0.8},  passed through two equal lags τ_m

c [mol/m³], Q 2 ml/s, D_i [m²/s], h_i [m³/s], s_i saturation [mol/m³], a_i the recipe (with an activity that grows
when it is scarce), b_{m,i} affinity [m³/mol], n_m Sips' exponent, S sensitivity. A recording starts 30 s after the
lid was opened, so that the chamber is neither clean nor settled. The coefficients are drawn, not calibrated.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from studies.states.physical import PhysicalStates
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor

__all__ = ["Played", "SipsSimulator", "branched_tube"]

DT = 0.1
HEAD_START_S = 30.0
_EXPONENT = 0.8


def branched_tube(sensors: tuple[str, ...], *, flow_m3_s: float = 2e-6) -> Chamber:
    """A jar, a tube of five cells, and one stagnant pocket for each sensor: reached by diffusion only."""
    tube, area, slot = [f"tube{i}" for i in range(5)], 3e-4, 3e-4
    cells = (
        Cell("jar", 80e-6, "source", inlet_m3_s=flow_m3_s),
        *(Cell(name, 6e-6, outlet_m3_s=flow_m3_s if name == tube[-1] else 0.0) for name in tube),
        *(Cell(f"pocket{m}", 2e-6, "sensor") for m in range(len(sensors))),
    )
    line = ["jar", *tube]
    edges = (
        *(Edge(a, b, 0.02, area, flow_m3_s / area) for a, b in pairwise(line)),
        *(Edge(tube[1 + m % 4], f"pocket{m}", 0.01, slot) for m in range(len(sensors))),
    )
    return Chamber(cells, edges, tuple(Sensor(name, f"pocket{m}") for m, name in enumerate(sensors)))


@dataclass(frozen=True, eq=False)
class Played:
    """States at whole seconds, and the signal at 10 Hz, (n, rows, M), of unit-free sensors."""

    states: PhysicalStates
    signal: np.ndarray


@dataclass(frozen=True, eq=False)
class SipsSimulator:
    """Coefficients of the second simulator; K odorants, M sensors."""

    chamber: Chamber
    D: np.ndarray
    saturation: np.ndarray
    transfer: np.ndarray
    drying_s: np.ndarray
    affinity: np.ndarray
    exponent: np.ndarray
    rate: np.ndarray
    sensitivity: np.ndarray
    lag_s: np.ndarray

    @classmethod
    def drawn(cls, channels: tuple[str, ...], K: int, *, seed: int = 0) -> "SipsSimulator":
        """Coefficients at random, in the ranges of foods' vapours and of metal-oxide sensors.

        As with real sensors, what a substance does to all sensors together varies more than what sets them apart.
        """
        rng, M = np.random.default_rng([seed, 77]), len(channels)
        saturation = np.exp(rng.normal(np.log(3e-3), 0.8, K))
        common = rng.normal(0, 0.7, K)
        return cls(
            branched_tube(channels),
            rng.uniform(0.5e-5, 1.5e-5, K),
            saturation,
            rng.uniform(0.5e-6, 4e-6, K),
            np.exp(rng.normal(np.log(120), 0.5, K)),
            np.exp(common + rng.normal(0, 0.5, (M, K))) / saturation,
            rng.uniform(0.5, 0.9, M),
            rng.uniform(0.2, 0.6, M),
            np.exp(rng.normal(0, 0.5, (M, K))),
            rng.uniform(1.5, 4.0, M),
        )

    def play(self, ratios: np.ndarray, *, seconds: int, strength: np.ndarray | None = None) -> Played:
        """States at 1, 2, … s after the head start, and the signal every 0.1 s from 0, of recipes (n, K)."""
        s = np.ones(len(ratios)) if strength is None else strength
        scarce = np.where(ratios > 0, ratios * np.exp((1 - ratios) ** 2), 0) * s[:, None]
        head, every = round(HEAD_START_S / DT), round(1 / DT)
        c = np.zeros((len(ratios), len(self.chamber.cells), ratios.shape[1]))
        theta = np.zeros((len(ratios), len(self.lag_s), ratios.shape[1]))
        y = np.zeros((2, len(ratios), len(self.lag_s)))
        kept_c, kept_theta, kept_y = [], [], []
        step, feed = self._gas()
        for n in range(head + round(seconds / DT) + 1):
            if n >= head:
                kept_y.append(y[1])
                if n > head and (n - head) % every == 0:
                    kept_c.append(c)
                    kept_theta.append(theta)
            surface = scarce * self.saturation * np.exp(-n * DT / self.drying_s)
            c = np.einsum("kvw,nwk->nvk", step, c) + feed * surface[:, None]
            theta = theta + (1 - np.exp(-self.rate * DT))[:, None] * (self.settled(c) - theta)
            y = self._read(y, theta)
        return Played(self._states(np.stack(kept_c, 1), np.stack(kept_theta, 1)), np.stack(kept_y, 1))

    def settled(self, c: np.ndarray) -> np.ndarray:
        """Sips coverage θ° at concentrations (n, V, K), (n, M, K)."""
        cells = [self.chamber.index[sensor.cell] for sensor in self.chamber.sensors]
        power = (self.affinity * np.maximum(c[:, cells], 0)) ** self.exponent[:, None]
        return power / (1 + power.sum(axis=2, keepdims=True))

    def _gas(self) -> tuple[np.ndarray, np.ndarray]:
        """Exact step of dc/dt = A_i c + h_i s e_jar/V over Δt: matrices (K, V, V), and the feed (V, K)."""
        from scipy.linalg import expm

        chamber, V = self.chamber, self.chamber.volume_m3
        flow, outlet = chamber.flow_m3_s, np.array([cell.outlet_m3_s for cell in chamber.cells])
        steps, feeds = [], []
        for D, h in zip(self.D, self.transfer, strict=True):
            A = -np.diag(outlet)
            A[0, 0] -= h
            for e, (u, v) in enumerate(zip(chamber.tail, chamber.head, strict=True)):
                g = D * chamber.edges[e].area_m2 / chamber.edges[e].length_m
                A[u, u], A[v, u] = A[u, u] - flow[e] - g, A[v, u] + flow[e] + g
                A[u, v], A[v, v] = A[u, v] + g, A[v, v] - g
            A = A / V[:, None]
            step, b = expm(DT * A), np.zeros(len(V))
            b[0] = h / V[0]
            steps.append(step)
            feeds.append(np.linalg.solve(A, (step - np.eye(len(V))) @ b))
        return np.stack(steps), np.stack(feeds, axis=1)

    def _read(self, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Two equal lags behind the power law."""
        u, share = np.sum(self.sensitivity * theta, axis=2) ** _EXPONENT, 1 - np.exp(-DT / self.lag_s)
        first = y[0] + share * (u - y[0])
        return np.stack([first, y[1] + share * (first - y[1])])

    def _states(self, c: np.ndarray, theta: np.ndarray) -> PhysicalStates:
        chamber = self.chamber
        length = np.array([edge.length_m for edge in chamber.edges])[:, None]
        flux = -self.D * (c[:, :, chamber.head] - c[:, :, chamber.tail]) / length
        cells = np.array([chamber.index[sensor.cell] for sensor in chamber.sensors])
        return PhysicalStates(c, flux, theta, np.einsum("v,ntvk->ntk", chamber.volume_m3, c), cells)

"""O4: Duncan & Toor (1962), two bulbs of hydrogen, nitrogen and carbon dioxide joined by a capillary.

Nitrogen starts nearly equal on both sides, is dragged along, crosses over, and later stands still against a gradient:
no law of the form J = −D ∇x with positive D can do that. The `rollout` itself is run on the bulbs with a resolved
capillary, filled linearly at the start, in steps of second order.
"""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.conditions import Conditions
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, clean_air
from unmixnet.physics.transport import stages_needed
from unmixnet.simulation.builders import two_bulbs
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.validation.check import Check, at_most, close
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["MEASURED", "NAMES", "PAIRS", "Bulbs", "duncan_toor", "fick_bulbs", "maxwell_stefan_bulbs", "misses"]

_ORACLE = "O4 Duncan & Toor 1962"
NAMES = ("hydrogen", "nitrogen", "carbon dioxide")
PAIRS = (0.833e-4, 0.680e-4, 0.168e-4)
"""H2–N2, H2–CO2, N2–CO2 [m²/s] at 35.2 °C and 1 atm."""
_NAN = float("nan")
MEASURED = {
    0.0: ((0.5390, 0.4614, 0.0), (0.0, 0.5215, 0.4781)),
    1.0: ((0.4568, 0.5041, 0.0348), (0.0809, 0.4761, 0.4410)),
    2.0: ((0.4165, 0.5130, 0.0651), (0.1190, 0.4690, _NAN)),
    4.0: ((0.3587, 0.5334, 0.1006), (0.1785, 0.4479, 0.3744)),
    12.0: ((0.2691, 0.5574, 0.1689), (_NAN, 0.4233, 0.3092)),
}
"""Hours → mole fractions in bulb 1 and bulb 2, in the order of NAMES; digitised, ± .005."""
_QUASI_STEADY = {1.0: (0.4744, 0.4927, 0.0329), 4.0: (0.3595, 0.5414, 0.0991), 12.0: (0.2793, 0.5455, 0.1752)}
"""Bulb 1 with the exact solution of a quasi-steady capillary."""
_HOURS, _POINTS = 12.0, 300


@dataclass(frozen=True)
class Bulbs:
    """Mole fractions of the two bulbs in time."""

    hours: np.ndarray
    bulb1: np.ndarray
    bulb2: np.ndarray
    status: int = 0
    """Of the rollout; 0 says that it was solved and the limiter never acted."""

    def crossing_h(self) -> float:
        """When nitrogen is equal in both bulbs; NaN if it never is."""
        return _zero(self.hours, self.bulb1[:, 1] - self.bulb2[:, 1])

    def barrier_h(self) -> float:
        """When nitrogen stops although a gradient remains: the turning point of bulb 1; NaN if there is none."""
        rate = np.gradient(self.bulb1[:, 1], self.hours)
        later = self.hours > 0.5
        return _zero(self.hours[later], rate[later])

    def at(self, hour: float) -> np.ndarray:
        """Mole fractions (bulb, species)."""
        i = int(np.argmin(np.abs(self.hours - hour)))
        return np.stack([self.bulb1[i], self.bulb2[i]])


def _zero(t: np.ndarray, f: np.ndarray) -> float:
    change = np.nonzero(np.diff(np.sign(f)))[0]
    if change.size == 0:
        return float("nan")
    i = change[0]
    return float(t[i] + (t[i + 1] - t[i]) * f[i] / (f[i] - f[i + 1]))


def misses(result: Bulbs) -> float:
    """Mean distance from the measured mole fractions."""
    gaps = [np.abs(result.at(hour) - np.array(bulbs)) for hour, bulbs in MEASURED.items() if hour > 0]
    return float(np.nanmean(gaps))


def _start(n_cells: int) -> np.ndarray:
    ends = [np.array(bulb) / np.sum(bulb) for bulb in MEASURED[0.0]]
    along = np.concatenate([[0], (np.arange(n_cells) + 0.5) / n_cells, [1]])[:, None]
    return (1 - along) * ends[0] + along * ends[1]


def maxwell_stefan_bulbs(n_cells: int, *, pairs: tuple[float, float, float] = PAIRS, hours: float = _HOURS) -> Bulbs:
    """The experiment with `n_cells` in the capillary, by the rollout."""
    chamber = two_bulbs(n_cells)
    geometry = chamber.geometry()
    process = _process(chamber, pairs)
    dt = jnp.asarray(hours * 3600 / _POINTS)
    policy = Policy(order=2, stages=int(stages_needed(process, geometry, dt, slopes=False)))

    @eqx.filter_jit
    def run(process):
        air = clean_air(process, geometry)
        start = eqx.tree_at(lambda state: state.N, air, jnp.sum(air.N, axis=0) * jnp.asarray(_start(n_cells).T))
        return rollout(process, geometry, start, dt, _POINTS, save=("x",), policy=policy)

    result = run(process)
    bulbs = np.asarray(result.saved.x)[:, :, [0, -1]].swapaxes(1, 2)
    return _bulbs(bulbs, hours, int(result.status))


def _process(chamber: Chamber, pairs: tuple[float, float, float]) -> Process:
    """Diffusion alone, hydrogen in the place of the carrier."""
    a, b, c = pairs
    law = MaxwellStefan(jnp.array([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]]), jnp.ones(len(chamber.edges)))
    process = made_up_process(chamber, 2, wall_per_s=0.0)
    conditions = Conditions.of(temperature_K=308.35)
    return eqx.tree_at(lambda p: (p.source.amount, p.diffusion, p.conditions), process, (jnp.zeros(2), law, conditions))


def fick_bulbs(*, pairs: tuple[float, float, float] = PAIRS, hours: float = _HOURS) -> Bulbs:
    """The same bulbs with effective (Wilke) diffusivities, each species on its own: what must fail.

    Nothing ties the species together, so the fractions do not even sum to one; they are left as they come.
    """
    a, b, c = pairs
    R = 1 / np.array([[np.inf, a, b], [a, np.inf, c], [b, c, np.inf]])
    chamber = two_bulbs(1)
    V1, V2 = chamber.volume_m3[0], chamber.volume_m3[2]
    x = _start(1)[[0, 2]]
    out = []
    interval = hours * 3600 / _POINTS
    for _ in range(_POINTS):
        for _ in range(16):
            mean = x.mean(axis=0)
            D = (1 - mean) / (R @ mean)
            moved = interval / 16 * D * (x[0] - x[1]) / 25810.0
            x = x + np.stack([-moved / V1, moved / V2])
        out.append(x)
    return _bulbs(np.array(out), hours)


def _bulbs(x: np.ndarray, hours: float, status: int = 0) -> Bulbs:
    times = hours * np.arange(1, _POINTS + 1) / _POINTS
    start = _start(1)[[0, 2]]
    return Bulbs(np.append(0, times), np.vstack([start[:1], x[:, 0]]), np.vstack([start[1:], x[:, 1]]), status)


def duncan_toor(
    *, pairs: tuple[float, float, float] = PAIRS, cells: tuple[int, ...] = (4, 8, 16), fick: bool = False
) -> list[Check]:
    """Crossing, barrier, the exact bulb compositions and the measured points; capillary refined towards 16 cells."""
    results = [fick_bulbs(pairs=pairs)] if fick else [maxwell_stefan_bulbs(n, pairs=pairs) for n in cells]
    finest = results[-1]
    checks = [
        at_most(_ORACLE, "status of the rollout, 0 = solved without the limiter", finest.status, 1e-12),
        close(_ORACLE, f"nitrogen crosses [h], {cells[-1]} cells", finest.crossing_h(), 0.9588, 0.005),
        close(_ORACLE, f"nitrogen stands still [h], {cells[-1]} cells", finest.barrier_h(), 7.50, 0.01),
        at_most(_ORACLE, "mean distance from the measured mole fractions", misses(finest), 0.010),
    ]
    for hour, expected in _QUASI_STEADY.items():
        for i, name in enumerate(NAMES):
            label = f"{name} in bulb 1 at {hour:g} h"
            checks.append(close(_ORACLE, label, finest.at(hour)[0, i], expected[i], 2e-4))
    if not fick:
        a, b, c = (result.crossing_h() for result in results[-3:])
        checks.append(close(_ORACLE, "order of convergence in the cells", np.log2((b - a) / (c - b)), 2.0, 0.3))
    return checks

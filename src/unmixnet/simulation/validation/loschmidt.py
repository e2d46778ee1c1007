"""O8: a Loschmidt cell of methane, argon and hydrogen, two chambers that are opened to each other at t = 0.

Argon starts almost equal. Methane, against which it rubs most, drags it up its own gradient; it comes back only when
methane is nearly spread. The arrangement is that of Arnold & Toor (1967); the averages solve the ternary equations (an
independent BDF integration meets them to 1e-4) and are not measurements. The column is a chain of equal cells, and
`rollout` itself is run on it, in eight steps of second order. Diffusion alone sets the error, of second order in the
cells, so that two columns extrapolate to the published digits (Richardson).

Argon is the carrier, since methane and hydrogen are each absent from one chamber. Fick's law closes Σ J = 0 through the
carrier, so there it is methane: argon then follows its own gradient and never goes uphill.
"""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from unmixnet.physics.conditions import Conditions, air_concentration
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.maxwell_stefan import Form, MaxwellStefan
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, State, clean_air
from unmixnet.physics.transport import stages_needed
from unmixnet.simulation.builders import chain
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.validation.check import Check, at_most, close
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["AVERAGES", "NAMES", "PAIRS", "Chambers", "extrapolated", "loschmidt", "loschmidt_cell"]

_ORACLE = "O8 Loschmidt cell"
NAMES = ("methane", "argon", "hydrogen")
PAIRS = (21.57e-6, 77.16e-6, 83.35e-6)
"""CH4–Ar, CH4–H2, Ar–H2 [m²/s] at 34 °C and 101.3 kPa."""
_LENGTH = 0.4056
"""Of one chamber [m]."""
AVERAGES = {
    0.0: ((0.0, 0.509, 0.491), (0.515, 0.485, 0.0)),
    0.25: ((0.1349, 0.5525, 0.3126), (0.3801, 0.4415, 0.1784)),
    0.5: ((0.1801, 0.5516, 0.2683), (0.3349, 0.4424, 0.2227)),
    1.0: ((0.2222, 0.5295, 0.2483), (0.2928, 0.4645, 0.2427)),
    2.0: ((0.2491, 0.5053, 0.2456), (0.2659, 0.4888, 0.2454)),
}
"""Hours → mean mole fractions of the bottom and the top chamber, in the order of NAMES."""
_INTERVAL, _INTERVALS = 900.0, 8


@dataclass(frozen=True)
class Chambers:
    """Mean mole fractions of the two chambers in time."""

    hours: np.ndarray
    bottom: np.ndarray
    top: np.ndarray
    status: int
    """Of the rollout; 0 says that it was solved and the limiter never acted."""

    def at(self, hour: float) -> np.ndarray:
        """Mole fractions (chamber, species)."""
        i = int(np.argmin(np.abs(self.hours - hour)))
        return np.stack([self.bottom[i], self.top[i]])


def loschmidt_cell(
    n_cells: int, *, pairs: tuple[float, float, float] = PAIRS, form: Form = "exact", carrier: str = "argon"
) -> Chambers:
    """Two hours in a column of `n_cells` cells, an even number, by the rollout."""
    chamber = chain(n_cells, length_m=2 * _LENGTH, sensors=0)
    geometry = chamber.geometry()
    first = NAMES.index(carrier)
    order = [first, *(i for i in range(3) if i != first)]
    process = _process(chamber, pairs, order, form)
    start = _start(process, geometry, np.array(AVERAGES[0.0])[:, order])
    interval = jnp.asarray(_INTERVAL)
    policy = Policy(order=2, stages=int(stages_needed(process, geometry, interval, slopes=False)))

    @eqx.filter_jit
    def run(process, start):
        return rollout(process, geometry, start, interval, _INTERVALS, save=("N",), policy=policy)

    result = run(process, start)
    assert result.saved.N is not None, "N is saved"
    moles = np.concatenate([_moles(start.N)[None], _moles(result.saved.N)])
    x = moles[..., np.argsort(order)]
    x = x / x.sum(axis=-1, keepdims=True)
    return Chambers(np.arange(_INTERVALS + 1) * _INTERVAL / 3600, x[:, 0], x[:, 1], int(result.status))


def _process(chamber: Chamber, pairs: tuple[float, float, float], order: list[int], form: Form) -> Process:
    """Diffusion alone: nothing is released, flows or is lost, and no sensor takes any."""
    a, b, c = pairs
    D = np.array([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]])[np.ix_(order, order)]
    law = MaxwellStefan(jnp.asarray(D), jnp.ones(len(chamber.edges)), form=form)
    process = made_up_process(chamber, 2, wall_per_s=0.0)
    conditions = Conditions.of(temperature_K=307.15, pressure_Pa=101300.0)
    return eqx.tree_at(lambda p: (p.source.amount, p.diffusion, p.conditions), process, (jnp.zeros(2), law, conditions))


def _start(process: Process, geometry: Geometry, x: np.ndarray) -> State:
    """The lower half of the cells filled with x[0], the upper with x[1]."""
    cells = np.repeat(x, geometry.volume.shape[0] // 2, axis=0)
    N = air_concentration(process.conditions) * geometry.volume * jnp.asarray(cells.T)
    return eqx.tree_at(lambda state: state.N, clean_air(process, geometry), N)


def _moles(N: Float[Array, "*T S V"]) -> np.ndarray:
    """Moles (…, chamber, species) of the bottom and the top half of the cells."""
    halves = np.split(np.asarray(N), 2, axis=-1)
    return np.stack([half.sum(axis=-1) for half in halves], axis=-2)


def extrapolated(coarse: Chambers, fine: Chambers) -> Chambers:
    """Two columns, one of twice as many cells, without the part of the error that is quadratic in their size."""
    bottom, top = ((4 * b - a) / 3 for a, b in ((coarse.bottom, fine.bottom), (coarse.top, fine.top)))
    return Chambers(fine.hours, bottom, top, max(coarse.status, fine.status))


def loschmidt(
    *, pairs: tuple[float, float, float] = PAIRS, cells: tuple[int, ...] = (4, 8, 16), fick: bool = False
) -> list[Check]:
    """The averages of both chambers, extrapolated from the two finest columns, and the order in which they converge."""
    if fick:
        results = [loschmidt_cell(n, pairs=pairs, form="fick", carrier="methane") for n in cells]
    else:
        results = [loschmidt_cell(n, pairs=pairs) for n in cells]
    best = extrapolated(*results[-2:])
    checks = [at_most(_ORACLE, "status of the rollout, 0 = solved without the limiter", best.status, 1e-12)]
    for hour in list(AVERAGES)[1:]:
        for k, where in enumerate(("bottom", "top")):
            for i, name in enumerate(NAMES):
                label, expected = f"{name} in the {where} at {hour:g} h", AVERAGES[hour][k][i]
                checks.append(close(_ORACLE, label, best.at(hour)[k, i], expected, 5e-4))
    if len(results) > 2:
        a, b, c = (result.at(1.0)[0, 0] for result in results[-3:])
        checks.append(close(_ORACLE, "order of convergence in the cells", np.log2((a - b) / (b - c)), 2.0, 0.3))
    return checks

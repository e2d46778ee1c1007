"""Made-up rigs: tables and traces from the laws themselves, with known parameters."""

import numpy as np

from studies.uci.dynamic_response import Programme, simulate
from studies.uci.steady_response import Exchange, response
from studies.uci.trace_fit import SensorTrace
from unmixnet.recordings.formats.uci_plateaus import Plateaus

EXCHANGE = Exchange(5.0, np.array([20.0, 150.0]), np.array([0.03, 0.1]))
_TYPES = np.array([[-1.0, -0.5, -1.5, -1.5], [1.0, 1.0, -0.7, -2.0], [1.8, -0.2, -0.5, -2.5], [0.7, 1.1, -0.9, -1.8]])


def parameters(sensors: int = 16) -> np.ndarray:
    """Langmuir sensors of four types, each with its own air."""
    P = np.zeros((sensors, 8))
    P[:, 0] = np.linspace(6.5, 8.0, sensors)
    P[:, 1:5] = _TYPES[[m // 2 % 4 for m in range(sensors)]]
    return P


def table(rows: int, *, noise: float = 0.01, seed: int = 0) -> Plateaus:
    """Consecutive plateaus: neither, one or both gases; every twelfth lasts only 10 s."""
    rng = np.random.default_rng(seed)
    present = rng.integers(0, 2, (rows, 2))
    ppm = present * np.column_stack(
        [rng.choice([70.0, 130.0, 200.0, 290.0], rows), rng.choice([7.0, 12.0, 19.0], rows)]
    )
    duration = np.where(np.arange(rows) % 12 == 11, 10.0, rng.uniform(80, 200, rows))
    x = EXCHANGE.along(ppm / [100, 10], duration)
    y = response(parameters(), x)[0] + noise * rng.normal(size=(rows, 16))
    start = np.concatenate([[0.0], np.cumsum(duration)[:-1]])
    return Plateaus(start, duration, ("methane", "ethylene"), ppm, tuple(f"s{m + 1:02d}" for m in range(16)), np.exp(y))


SHARED = np.log([12.0, 9.0, 1.0, 16.0, 60.0])
SENSOR = np.array([7.2, 0.0, 1.0, 1.5, -1.2, -2.0, np.log(0.04), np.log(0.03), np.log(3.0), 0.0, 0.0])


def trace(*, noise: float = 0.003, seed: int = 0) -> SensorTrace:
    """One sensor over 900 s at uneven times, eight changes."""
    rng = np.random.default_rng(seed)
    time_s = np.sort(rng.uniform(0, 900, 4000))
    c = np.array([[0, 0], [2, 0], [0, 1.5], [0, 0], [1, 1], [0, 0], [0, 0.8], [3, 0], [0, 0]], float)
    programme = Programme(100.0 * np.arange(9), c)
    y = simulate(SHARED[None], SENSOR[None, None], programme, np.append(0, time_s), dt_s=0.1)[0, 1:]
    return SensorTrace(time_s, np.exp(y + noise * rng.normal(size=y.shape)), programme, ("s01",), ("CO", "ethylene"))

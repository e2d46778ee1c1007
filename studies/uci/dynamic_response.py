r"""Response of sensors in a flow-through chamber to set points that change: mixing, adsorption, readout, lag.

    ẋ_i = (c_i(t − δ) − x_i)/τ_c                        flow-through chamber, τ_c = V/F, transport delay δ
    θ̇_i = k_i (K_i x_i θ_0 − θ_i),   θ_0 = 1 − Σ θ_j    competitive adsorption, k_i = k_des [1/s], K_i = k_ads/k_des
    s*  = b + w e^{−t/τ_w} + γ ln(1 + Σ S_i θ_i)        logarithm of the conductance
    ẏ   = (s* − y)/τ                                    lag of the heated bead

A gas that was shut off must first purge its own line: after a set point of zero it arrives δ + v_i/c_i late, v_i the
volume of the line over the flow that one unit of c takes [unit s]. Shutting off, or changing a flow that runs, has the
delay δ alone.

c is held between changes, so x is a sum of exponentials and exact at any time. θ takes the implicit midpoint rule,
which needs no small step: the two gases meet only in θ_0, so each step is a formula. y is exact for s* held over the
step. The readings may come at any times: the solution is read between its steps by straight lines.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["SENSOR_COLUMNS", "SHARED_COLUMNS", "Programme", "changes_of", "simulate"]

SHARED_COLUMNS = ("log tau_c", "log delay", "log v1", "log v2", "log tau_w")
"""Parameters of the rig: V/F [s], δ [s], v of the two gas lines [unit s], time in which the rig warms up [s]."""
SENSOR_COLUMNS = (
    "b",
    "w",
    "log S1",
    "log S2",
    "log K1",
    "log K2",
    "log k1",
    "log k2",
    "log tau",
    "log recovery",
    "log γ",
)
"""Parameters of one sensor; `recovery` is τ when the signal falls over τ when it rises."""


@dataclass(frozen=True, eq=False)
class Programme:
    """Set points: from `start_s[j]` on the gases have concentrations `c[j]`, in any unit, shapes (J,) and (J, 2)."""

    start_s: np.ndarray
    c: np.ndarray


def changes_of(time_s: np.ndarray, c: np.ndarray) -> Programme:
    """The programme behind a recording: the first set point, and each that differs from the one before."""
    first = np.append(True, np.any(np.diff(c, axis=0) != 0, axis=1))
    return Programme(np.asarray(time_s)[first], np.asarray(c)[first])


def simulate(
    shared: np.ndarray, sensors: np.ndarray, programme: Programme, time_s: np.ndarray, *, dt_s: float = 0.5
) -> np.ndarray:
    """ln G at the given times for a batch of parameter sets, shape (B, n, M).

    The recording starts in the steady state of the first set point.

    Arguments:
        shared: shape (B, 5), in the order of `SHARED_COLUMNS`.
        sensors: shape (B, M, 11), in the order of `SENSOR_COLUMNS`.
        programme: the set points.
        time_s: increasing times, none before the first set point.
        dt_s: step of the solver.
    """
    t0 = float(time_s[0])
    steps = int(np.ceil((time_s[-1] - t0) / dt_s)) + 1
    grid = t0 + dt_s * np.arange(steps + 1)
    x = _mixed(shared, programme, grid + dt_s / 2)  # (B, steps + 1, 2) at the middle of each step
    b, w = sensors[..., 0], sensors[..., 1]
    S, K, k = (np.exp(sensors[..., j : j + 2]) for j in (2, 4, 6))
    rise, fall = (np.exp(-dt_s / np.exp(tau)) for tau in (sensors[..., 8], sensors[..., 8] + sensors[..., 9]))
    gamma = np.exp(sensors[..., 10])
    trend = np.exp(-(grid - programme.start_s[0])[None] / np.exp(shared[:, 4:5]))  # (B, steps + 1)
    lam = K * programme.c[0]
    theta = lam / (1 + lam.sum(axis=-1, keepdims=True))
    a = 0.5 * dt_s * k
    share = 1 / (1 + a)
    y = b + w * trend[:, :1] + gamma * np.log1p((S * theta).sum(axis=-1))
    out = np.empty((len(grid), *y.shape))
    out[0] = y
    for n in range(len(grid) - 1):
        gain = a * share * K * x[:, n, None, :]
        pushed = share * theta + gain
        total = pushed.sum(axis=-1, keepdims=True) / (1 + gain.sum(axis=-1, keepdims=True))
        theta = 2 * (pushed - gain * total) - theta
        goal = b + w * trend[:, n + 1 : n + 2] + gamma * np.log1p((S * theta).sum(axis=-1))
        y = goal + np.where(goal > y, rise, fall) * (y - goal)
        out[n + 1] = y
    return _at(out, grid, time_s)


def _mixed(shared: np.ndarray, programme: Programme, t: np.ndarray) -> np.ndarray:
    """x of both gases at the times t, shape (B, n, 2): each change of the set point decays on its own."""
    tau = np.exp(shared[:, :1])
    x = np.empty((len(shared), len(t), 2))
    jumps = np.diff(programme.c, axis=0)
    for i in range(2):
        x[..., i] = programme.c[0, i]
        for j, start in enumerate(programme.start_s[1:]):
            before, jump = programme.c[j, i], jumps[j, i]
            if jump:
                purge = np.exp(shared[:, 2 + i : 3 + i]) / jump if before == 0 else 0.0
                since = np.maximum(t[None] - start - np.exp(shared[:, 1:2]) - purge, 0)
                x[..., i] -= jump * np.expm1(-since / tau)
    return np.maximum(x, 0)


def _at(out: np.ndarray, grid: np.ndarray, time_s: np.ndarray) -> np.ndarray:
    """Straight lines between the steps; out is (steps, B, M), the answer (B, n, M)."""
    place = np.clip(np.searchsorted(grid, time_s, side="right") - 1, 0, len(grid) - 2)
    part = ((time_s - grid[place]) / (grid[1] - grid[0]))[:, None, None]
    return np.moveaxis((1 - part) * out[place] + part * out[place + 1], 0, 1)

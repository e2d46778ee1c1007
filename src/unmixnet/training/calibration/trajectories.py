r"""Pseudo-reference states of simulated recordings, and the scalar trajectories of the supplement.

    C*_{m,i}(t_n) = c_{v(m),i}(t_n)        concentration in the cell that sensor m breathes [mol/m³]
    J*_{e,i}(t_n)                          diffusive flux through edge e [mol/(m² s)]
    θ*_{m,i}(t_n)                          coverage of sensor m by substance i [–]
    M*_i(t_n) = Σ_v N_{v,i}(t_n)           moles of substance i in the gas of the whole chamber [mol]

t_n are the ends of the solver's steps, n = 1 … T. They are implied by the assumed closure, not measured.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from unmixnet.errors import SolveError
from unmixnet.model.batches import made_for_each, samples_first
from unmixnet.model.lifting import lift
from unmixnet.physics.advection import Velocities
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.source import RiseDecay
from unmixnet.physics.state import Process, State, Status, with_samples

__all__ = ["Run", "Trajectories", "released", "solve_all", "steady_concentration"]


@dataclass(frozen=True, eq=False)
class Trajectories:
    """States of n recordings at T instants, for M sensors, E edges and K substances (the carrier is left out).

    Arguments:
        time_s: ends of the solver's steps, shape (T,).
        concentration: C*, shape (n, T, M, K) [mol/m³].
        flux: J*, shape (n, T, E, K) [mol/(m² s)].
        coverage: θ*, shape (n, T, M, K) [–].
        mass: M*, shape (n, T, K) [mol].
        signal: of the sensors, shape (n, T, M), in the units of the calibrated signal.
        first: signal at t = 0, shape (n, M).
        ms_residual, mass_error: mean Maxwell–Stefan residual and mass error of each recording, shape (n,) [–].
    """

    time_s: np.ndarray
    concentration: np.ndarray
    flux: np.ndarray
    coverage: np.ndarray
    mass: np.ndarray
    signal: np.ndarray
    first: np.ndarray
    ms_residual: np.ndarray
    mass_error: np.ndarray

    def __len__(self) -> int:
        return len(self.signal)

    @property
    def mean_concentration(self) -> np.ndarray:
        """C*(t) = mean over sensors and substances, shape (n, T)."""
        return self.concentration.mean(axis=(2, 3))

    @property
    def mean_flux(self) -> np.ndarray:
        """J*(t) = mean of |J| over edges and substances, shape (n, T)."""
        return np.abs(self.flux).mean(axis=(2, 3))

    @property
    def mean_coverage(self) -> np.ndarray:
        """Θ*(t) = mean over sensors and substances, shape (n, T)."""
        return self.coverage.mean(axis=(2, 3))

    @property
    def total_mass(self) -> np.ndarray:
        """M*(t) = Σ_i M*_i(t), shape (n, T) [mol]."""
        return self.mass.sum(axis=2)

    def trace(self, rate_Hz: float) -> np.ndarray:
        """The signal from t = 0 at a steady rate, shape (n, rows, M), straight lines between the solver's steps.

        A window of it is what an encoder sees; its first row is the start of the recording.
        """
        ends = np.concatenate([[0.0], self.time_s])
        rows = np.arange(int(np.floor(ends[-1] * rate_Hz + 1e-6)) + 1) / rate_Hz
        after = np.clip(np.searchsorted(ends, rows, side="right"), 1, len(ends) - 1)
        part = ((rows - ends[after - 1]) / (ends[after] - ends[after - 1]))[:, None]
        y = np.concatenate([self.first[:, None], self.signal], axis=1)
        return (1 - part) * y[:, after - 1] + part * y[:, after]


_BATCH = 32
SAVED = ("N", "J", "theta", "y", "closure")


class Run(eqx.Module):
    """How a process is run: the chamber, the step, and the state of the chamber at t = 0.

    Arguments:
        exposed: whether a recording starts with the odour present; else in clean air.
    """

    geometry: Geometry
    step_s: Float[Array, ""]
    steps: int = eqx.field(static=True)
    exposed: bool = eqx.field(static=True)
    policy: Policy


def released(process: Process, shares: Float[Array, " K"]) -> Process:
    """The process whose source releases these shares (strength times ratios) of the pure amounts."""
    return eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * shares)


def steady_concentration(process: Process) -> Float[Array, " K"]:
    """q_i / Q [mol/m³]: the release rate over the draught, mean over the recording where the release has an end."""
    profile, flow = process.source.profile, jnp.sum(process.flow.inlet_flow)
    rate = process.source.amount / (profile.t_max if isinstance(profile, RiseDecay) else 1)
    return rate / jnp.where(flow > 0, flow, 1e-6)


def solve_all(
    process: Process, run: Run, shares: np.ndarray, exposure: np.ndarray, first: np.ndarray
) -> dict[str, np.ndarray]:
    """States of every row of `shares`, (n, K): N, J, theta, y by name with first axes (n, steps, species), and `start`.

    Where `first`, (n, M), is NaN a sensor starts settled.
    """
    n = len(shares)
    rows = np.arange(-(-n // _BATCH) * _BATCH) % n
    parts = []
    for batch in np.split(rows, len(rows) // _BATCH):
        parts.append(
            _solved(process, run, *(jnp.asarray(part[batch], jnp.float32) for part in (shares, exposure, first)))
        )
    worst = Status(max(int(np.max(np.asarray(part["status"]))) for part in parts))
    if worst > Status.LIMITED:
        raise SolveError(worst.text, where="simulator", remedy="Check the coefficients, or shorten the step")
    return {name: np.concatenate([np.asarray(part[name]) for part in parts])[:n] for name in parts[0]}


@eqx.filter_jit
def _solved(process: Process, run: Run, shares: Array, exposure: Array, first: Array) -> dict[str, Any]:
    def begin(shares: Array, exposure: Array, first: Array) -> tuple[Process, State]:
        this = released(process, shares)
        start = lift(this, run.geometry, None, exposure * steady_concentration(this) if run.exposed else None)
        return this, eqx.tree_at(lambda s: s.y, start, jnp.where(jnp.isnan(first), start.y, first))

    these, start = made_for_each(begin, shares, exposure, first)
    geometry = with_samples(run.geometry)
    done = rollout(these, geometry, start, run.step_s, run.steps, save=SAVED, policy=run.policy)
    kept, closure = done.saved, done.saved.closure
    assert closure is not None, "the closure is among SAVED"
    states = {
        "N": kept.N,
        "J": kept.J,
        "theta": kept.theta,
        "y": kept.y,
        "start": start.y,
        "ms_residual": jnp.mean(closure.ms_residual, axis=0),
        "mass_error": jnp.mean(closure.mass_error, axis=0),
        "status": done.status,
    }
    return samples_first(states, len(shares))


def largest_diffusivity(process: Process) -> float:
    """Largest diffusivity on any edge [m²/s]."""
    D = np.asarray(process.diffusion.D)
    off = ~np.eye(D.shape[0], dtype=bool)
    return float(np.max(D[off]) * np.max(np.asarray(process.diffusion.scale)))


def velocity_factor(process: Process, velocity_m_s: np.ndarray) -> float:
    """Largest velocity over the largest one of the chamber's description."""
    if not isinstance(process.flow, Velocities) or not np.any(velocity_m_s):
        return 1.0
    return float(np.max(np.abs(np.asarray(process.flow.velocity))) / np.max(np.abs(velocity_m_s)))

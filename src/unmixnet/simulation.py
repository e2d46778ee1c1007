"""Simulate a chamber: NumPy and names at the edge, the laws of `unmixnet.physics` inside."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unmixnet.chamber import Chamber
from unmixnet.config import SimulationConfig
from unmixnet.errors import SolveError
from unmixnet.problem import Problem, build

__all__ = ["Simulated", "simulate"]


@dataclass(frozen=True)
class Simulated:
    """Trajectories of a simulation as NumPy arrays; the first axis is time."""

    chamber: Chamber
    species: tuple[str, ...]
    time_s: np.ndarray
    mole_fraction: np.ndarray
    """(T, cells, species)."""
    moles: np.ndarray
    """(T, cells, species) [mol]."""
    flux_mol_m2_s: np.ndarray
    """(T, edges, species)."""
    coverage: np.ndarray
    """(T, sensors, species); entry 0 is the empty site."""
    readout: np.ndarray
    """(T, sensors)."""
    reservoirs_mol: dict[str, np.ndarray]
    """source, inlet, boundary, outlet, wall, adsorbed: (T, species)."""
    ledger: np.ndarray
    """(T, species): relative imbalance of the mole balance."""
    closure: dict[str, np.ndarray]
    """ms_residual, mass_error, carrier_error, simplex_error, entropy_production: (T,)."""
    status: str
    direct_solves: int


def simulate(problem: Problem | SimulationConfig, *, throw: bool = True) -> Simulated:
    """Run a simulation; with `throw` a failed solve raises `SolveError` naming the operator and the step."""
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.rollout import SAVEABLE, rollout
    from unmixnet.physics.state import Status

    problem = build(problem) if isinstance(problem, SimulationConfig) else problem
    with jax.enable_x64(problem.dtype == "float64"):
        run = jax.jit(
            lambda process, start, dt: rollout(
                process, problem.geometry, start, dt, problem.n_steps, save=SAVEABLE, policy=problem.policy
            )
        )
        result = jax.block_until_ready(run(problem.process, problem.start, jnp.asarray(problem.dt_s, float)))
        status = Status(int(result.status))
        if throw and status > Status.LIMITED:
            raise _solve_error(problem, result, status)
        return _simulated(problem, result, status)


def _solve_error(problem: Problem, result: Any, status: Any) -> SolveError:
    import jax.numpy as jnp

    from unmixnet.physics.diagnose import failing_operator
    from unmixnet.physics.state import Status

    step = int(result.failed_at)
    operator = status.name.removeprefix("BAD_").lower().replace("_", " ")
    if status == Status.DIVERGED:
        dt = jnp.asarray(problem.dt_s, float)
        operator = failing_operator(problem.process, problem.geometry, result.final, dt, problem.policy)
    text, _, remedy = status.text.partition("; ")
    remedy = remedy[:1].upper() + remedy[1:]
    return SolveError(text, where=f"{operator}, step {step} (t = {step * problem.dt_s:g} s)", remedy=remedy)


def _simulated(problem: Problem, result: Any, status: Any) -> Simulated:
    saved = result.saved
    sites = np.asarray(problem.process.surface.sites)
    theta = np.asarray(saved.theta)
    adsorbed = np.einsum("m,tms->ts", sites, theta)
    adsorbed[:, 0] = 0
    reservoirs = {
        k: np.asarray(getattr(saved.reservoirs, k)) for k in ("source", "inlet", "boundary", "outlet", "wall")
    }
    diagnostics = ("ms_residual", "mass_error", "carrier_error", "simplex_error", "entropy_production")
    return Simulated(
        problem.chamber,
        problem.species,
        problem.dt_s * np.arange(1, problem.n_steps + 1),
        np.asarray(saved.x),
        np.asarray(saved.N),
        np.asarray(saved.J),
        theta,
        np.asarray(saved.y),
        {**reservoirs, "adsorbed": adsorbed},
        np.asarray(saved.ledger),
        {k: np.asarray(getattr(saved.closure, k)) for k in diagnostics},
        status.name.lower(),
        int(result.direct_solves),
    )

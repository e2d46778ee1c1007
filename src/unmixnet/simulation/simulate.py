"""Simulate a chamber: NumPy and names at the edge, the laws of `unmixnet.physics` inside."""

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unmixnet.errors import ConfigError, SolveError
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.config import SimulationConfig
from unmixnet.simulation.problem import Problem, build

if TYPE_CHECKING:
    from unmixnet.physics.state import State

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
    final: "State"
    """Last state: continue from it with `simulate(problem, start=result.final)`."""


def simulate(problem: Problem | SimulationConfig, *, start: "State | None" = None, throw: bool = True) -> Simulated:
    """Run a simulation from the problem's own start, or from a given state.

    With `throw` a failed solve raises `SolveError` naming the operator and the step; without, it has a status.

    >>> import unmixnet as um
    >>> result = um.simulate(um.parse_simulation(um.example("enose")))
    >>> result.readout.shape, result.status
    ((720, 4), 'ok')
    >>> bool(abs(result.ledger).max() < 1e-9)  # no mole appears or vanishes
    True
    """
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.state import State, Status

    problem = problem if isinstance(problem, Problem) else build(problem)
    if start is not None and not isinstance(start, State):
        seen = f"a {type(start).__name__} was given, expected a state"
        raise ConfigError(seen, where="start", remedy="Give the `final` of another simulation")
    with jax.enable_x64(problem.dtype == "float64"):
        begin = problem.start if start is None else start
        dt = jnp.asarray(problem.dt_s, float)
        result = _solver()(problem.process, problem.geometry, begin, dt, problem.n_steps, policy=problem.policy)
        status = Status(int(result.status))
        if throw and status > Status.LIMITED:
            raise _solve_error(problem, result, status)
        return _simulated(problem, result, status)


@cache
def _solver() -> Any:
    """The rollout that saves everything, compiled once for each shape and policy."""
    import jax

    from unmixnet.physics.rollout import SAVEABLE, rollout

    return jax.jit(partial(rollout, save=SAVEABLE), static_argnames=("n_steps", "policy"))


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
        float(result.final.t) + problem.dt_s * np.arange(1 - problem.n_steps, 1),
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
        result.final,
    )

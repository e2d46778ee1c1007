"""Simulate a chamber: NumPy and names at the edge, the laws of `unmixnet.physics` inside."""

from dataclasses import dataclass
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
    """Trajectories of a simulation as NumPy arrays; the first axis is time.

    Fluxes, and what the closure says of a step, are those of the last step before each time.
    """

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
    steps: int
    """Steps taken."""
    rejected: int
    """Steps taken back because their error was above the tolerance."""
    settled_s: float | None
    """When nothing changed any more, if `until_steady` asked for it; the rows end there."""
    direct_solves: int
    final: "State"
    """Last state: continue from it with `simulate(problem, start=result.final)`."""


def simulate(problem: Problem | SimulationConfig, *, start: "State | None" = None, throw: bool = True) -> Simulated:
    """Run a simulation from the problem's own start, or from a given state.

    With `throw` a failed solve raises `SolveError` naming the operator and the step; without, it has a status.

    >>> import unmixnet as um
    >>> result = um.simulate(um.parse_simulation(um.example("enose")))
    >>> result.readout.shape, result.status
    ((360, 4), 'ok')
    >>> bool(abs(result.ledger).max() < 1e-9)  # no mole appears or vanishes
    True
    """
    import jax

    from unmixnet.physics.rollout import SAVEABLE
    from unmixnet.physics.state import State, Status

    problem = problem if isinstance(problem, Problem) else build(problem)
    if start is not None and not isinstance(start, State):
        seen = f"a {type(start).__name__} was given, expected a state"
        raise ConfigError(seen, where="start", remedy="Give the `final` of another simulation")
    begin = problem.start if start is None else start
    with jax.enable_x64(problem.dtype == "float64"):
        result = problem.rollout(start=begin, save=SAVEABLE)
        status = Status(int(result.status))
        if throw and status > Status.LIMITED:
            raise _solve_error(problem, result, status)
        return _simulated(problem, begin, result, status)


def _solve_error(problem: Problem, result: Any, status: Any) -> SolveError:
    import jax.numpy as jnp

    from unmixnet.physics.diagnose import failing_operator
    from unmixnet.physics.state import Status

    step, dt_s = int(result.failed_at), problem.dt_s
    t = float(result.final.t) if dt_s is None else step * dt_s
    operator = status.name.removeprefix("BAD_").lower().replace("_", " ")
    if status == Status.DIVERGED:
        dt = jnp.asarray(problem.times_s[0] if dt_s is None else dt_s, float)
        operator = failing_operator(problem.process, problem.geometry, result.final, dt, problem.policy())
    text, _, remedy = status.text.partition("; ")
    remedy = remedy[:1].upper() + remedy[1:]
    return SolveError(text, where=f"{operator}, step {step} (t = {t:g} s)", remedy=remedy)


def _simulated(problem: Problem, begin: "State", result: Any, status: Any) -> Simulated:
    import jax

    time_s = float(begin.t) + problem.times_s
    settled = np.inf if result.settled_at is None else float(result.settled_at)
    # what comes after the rest repeats it
    rows = min(int(np.searchsorted(time_s, settled)) + 1, len(time_s))
    saved = jax.tree.map(lambda a: np.asarray(a)[:rows], result.saved)
    sites = np.asarray(problem.process.surface.sites)
    # the laws have the species first; a reader of tables expects them last
    theta, moles, x, J = (a.swapaxes(1, 2) for a in (saved.theta, saved.N, saved.x, saved.J))
    adsorbed = np.einsum("m,tms->ts", sites, theta)
    adsorbed[:, 0] = 0
    reservoirs = {name: getattr(saved.reservoirs, name) for name in ("source", "inlet", "boundary", "outlet", "wall")}
    diagnostics = ("ms_residual", "mass_error", "carrier_error", "simplex_error", "entropy_production")
    return Simulated(
        chamber=problem.chamber,
        species=problem.species,
        time_s=time_s[:rows],
        mole_fraction=x,
        moles=moles,
        flux_mol_m2_s=J,
        coverage=theta,
        readout=saved.y,
        reservoirs_mol={**reservoirs, "adsorbed": adsorbed},
        ledger=saved.ledger,
        closure={name: getattr(saved.closure, name) for name in diagnostics},
        status=status.name.lower(),
        steps=len(time_s) if result.steps is None else int(result.steps),
        rejected=0 if result.rejected is None else int(result.rejected),
        settled_s=settled if np.isfinite(settled) else None,
        direct_solves=int(result.direct_solves),
        final=result.final,
    )

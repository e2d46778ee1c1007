"""O7: the splitting against SciPy's Radau on the unsplit equations, and the cells against a continuous tube.

Halving Δt must halve the error (slope 1). Refining the cells of a flow-through tube with first-order wall loss must
approach Danckwerts' (1953) solution of the advection–diffusion–reaction equation, at first order because of upwinding.
"""

import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, Schedule, clean_air
from unmixnet.physics.steady import steady_state
from unmixnet.simulation.builders import flow_through, portable_enose
from unmixnet.simulation.validation.check import Check, at_most, close
from unmixnet.simulation.validation.reference import ChamberEquations
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["danckwerts", "radau", "splitting_errors"]

_STEPS = (1.0, 0.5, 0.25, 0.125)


def radau(*, frozen_wall: bool = False) -> list[Check]:
    """Slope of the splitting error in Δt; `frozen_wall` forgets the wall loss, so that the error does not vanish."""
    errors = splitting_errors(frozen_wall=frozen_wall)
    checks = []
    for quantity, error in errors.items():
        slope = np.polyfit(np.log(_STEPS), np.log(error), 1)[0]
        checks.append(close("O7 SciPy Radau", f"slope of the error of {quantity} in Δt", slope, 1.0, 0.2))
        checks.append(
            at_most("O7 SciPy Radau", f"error of {quantity} at Δt = {_STEPS[-1]} s, relative", error[-1], 0.02)
        )
    return checks


def splitting_errors(*, frozen_wall: bool = False, t_end: float = 40.0) -> dict[str, list[float]]:
    """Relative error at t_end for each step of `_STEPS`."""
    chamber = portable_enose()
    geometry = chamber.geometry()
    process = made_up_process(chamber, 3, wall_per_s=5e-3, odorant_fraction=0.02)
    truth = ChamberEquations(process, geometry).solve(t_end, rtol=1e-10)
    if frozen_wall:
        process = _without_wall(process)
    errors: dict[str, list[float]] = {"moles": [], "coverage": [], "readout": []}
    for dt in _STEPS:
        policy = Policy(1, max(1, round(2 * chamber.diffusion_number(dt, 5e-5) + 0.5)))
        run = jax.jit(lambda p, dt=dt, policy=policy: rollout(
            p, geometry, clean_air(p, geometry), jnp.asarray(dt), round(t_end / dt), policy=policy
        ).final)  # fmt: skip
        final = run(process)
        pairs = {"moles": (final.N[:, 1:], truth.N[-1][:, 1:]), "coverage": (final.theta, truth.theta[-1]),
                 "readout": (final.y, truth.y[-1])}  # fmt: skip
        for name, (ours, theirs) in pairs.items():
            errors[name].append(float(np.max(np.abs(np.asarray(ours) - theirs)) / np.max(np.abs(theirs))))
    return errors


def _without_wall(process: Process) -> Process:
    import equinox as eqx

    return eqx.tree_at(lambda p: p.wall, process, None)


def danckwerts(*, dropped_decade: bool = False) -> list[Check]:
    """Outlet concentration of a flow-through tube for 8 … 64 cells: error at the finest mesh and slope in cell size."""
    D, flow, volume, length, loss = 2e-5, 1e-6, 60e-6, 0.1, 0.02
    speed = flow * length / volume
    exact = danckwerts_outlet(speed * length / D, loss * length / speed)
    counts = (8, 16, 32, 64)
    errors = []
    for n in counts:
        chamber = flow_through(n, volume_m3=volume, length_m=length, flow_m3_s=flow, sensors=1)
        process = made_up_process(chamber, 1, wall_per_s=loss)
        inlet = jnp.zeros((1, n, 2)).at[..., 0].set(1 - 1e-6).at[..., 1].set(1e-6)
        wrong = 10 if dropped_decade else 1
        pair = jnp.full((2, 2), D / wrong)
        process = _replace(process, MaxwellStefan(pair, jnp.ones(n - 1)), Schedule(jnp.zeros(1), inlet))
        state, _ = jax.jit(steady_state)(process, chamber.geometry())
        errors.append(abs(float(state.N[-1, 1] / state.N[-1].sum()) / 1e-6 - exact) / exact)
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    return [
        close("cell size", "slope of the outlet error in cell size (Danckwerts tube)", slope, 1.0, 0.2),
        at_most("cell size", "outlet error at 64 cells, relative", errors[-1], 0.01),
    ]


def danckwerts_outlet(peclet: float, damkoehler: float) -> float:
    """Outlet over inlet concentration of a closed–closed tube with first-order loss."""
    a = np.sqrt(1 + 4 * damkoehler / peclet)
    top = 4 * a * np.exp(peclet / 2)
    return float(top / ((1 + a) ** 2 * np.exp(a * peclet / 2) - (1 - a) ** 2 * np.exp(-a * peclet / 2)))


def _replace(process: Process, diffusion: MaxwellStefan, inlet: Schedule) -> Process:
    import equinox as eqx

    quiet = eqx.tree_at(lambda p: p.source.amount, process, jnp.zeros_like(process.source.amount))
    return eqx.tree_at(lambda p: (p.diffusion, p.inlet), quiet, (diffusion, inlet))

"""O7: the splitting against SciPy's Radau on the unsplit equations, and the cells against a continuous tube.

Halving Δt must quarter the error of the symmetric step and halve that of the paper's splitting. Refining the cells of a
flow-through tube with first-order wall loss must approach Danckwerts' (1953) solution of the
advection–diffusion–reaction equation, at second order with limited slopes and at first order upwind. Each second order
is held to the tolerance of the first, or a smaller one, with a quarter of its steps or cells.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, Schedule, State, clean_air
from unmixnet.physics.transport import stages_needed
from unmixnet.simulation.builders import flow_through, portable_enose
from unmixnet.simulation.chamber import Chamber
from unmixnet.simulation.validation.check import Check, at_most, close
from unmixnet.simulation.validation.reference import ChamberEquations
from unmixnet.simulation.validation.synthetic_problem import made_up_process

__all__ = ["danckwerts", "danckwerts_outlet", "radau", "splitting_errors"]

_RADAU, _TUBE = "O7 SciPy Radau", "cell size"
_STEPS = (1.0, 0.5, 0.25, 0.125)
_T_END = 40.0


def radau(*, frozen_wall: bool = False, split: bool = False) -> list[Check]:
    """Slopes of the error in Δt, of the symmetric step and of the paper's splitting.

    Defects: `frozen_wall` forgets the wall loss, so that the error does not vanish; `split` takes the splitting of
    first order in place of the symmetric step.
    """
    checks = []
    for order in (2, 1):
        # four times the step, a twentieth of the error
        at, tolerance = (1, 1e-3) if order == 2 else (3, 0.02)
        errors = splitting_errors(1 if split else order, frozen_wall=frozen_wall)
        for quantity, error in errors.items():
            slope = np.polyfit(np.log(_STEPS), np.log(error), 1)[0]
            label = f"order {order}, slope of the error of {quantity} in Δt"
            checks.append(close(_RADAU, label, slope, float(order), 0.2))
            label = f"order {order}, error of {quantity} at Δt = {_STEPS[at]:g} s, relative"
            checks.append(at_most(_RADAU, label, error[at], tolerance))
    return checks


def splitting_errors(order: int, *, frozen_wall: bool = False) -> dict[str, list[float]]:
    """Relative error after 40 s for each step of `_STEPS`; upwind, as the equations that Radau solves."""
    chamber = portable_enose()
    geometry = chamber.geometry()
    process = made_up_process(chamber, 3, wall_per_s=5e-3, odorant_fraction=0.02)
    truth = ChamberEquations(process, geometry).solve(_T_END, rtol=1e-10)
    if frozen_wall:
        process = eqx.tree_at(lambda p: p.wall, process, None)
    errors: dict[str, list[float]] = {"moles": [], "coverage": [], "readout": []}
    run = _forty_seconds(order, chamber, process)
    for dt in _STEPS:
        final = run(process, dt)
        pairs = {"moles": (final.N[1:].T, truth.N[-1][:, 1:]), "coverage": (final.theta.T, truth.theta[-1]),
                 "readout": (final.y, truth.y[-1])}  # fmt: skip
        for name, (ours, theirs) in pairs.items():
            errors[name].append(float(np.max(np.abs(np.asarray(ours) - theirs)) / np.max(np.abs(theirs))))
    return errors


def _forty_seconds(order: int, chamber: Chamber, process: Process):
    """The rollout from clean air as a function of process and step, compiled once: pieces of equal numbers of steps."""
    geometry, longest, piece = chamber.geometry(), jnp.asarray(_STEPS[0]), round(_T_END / _STEPS[0])
    if order == 2:
        stages = int(stages_needed(process, geometry, longest, slopes=False))
        policy = Policy(order=2, slopes=False, stages=stages)
    else:
        policy = Policy(1, max(1, round(2 * chamber.diffusion_number(_STEPS[0], 5e-5) + 0.5)), order=1)

    @jax.jit
    def advance(process: Process, state: State, dt: jax.Array) -> State:
        return rollout(process, geometry, state, dt, piece, save=(), policy=policy).final

    def run(process: Process, dt: float) -> State:
        times = range(round(_T_END / dt / piece))
        return functools.reduce(
            lambda state, _: advance(process, state, jnp.asarray(dt)), times, clean_air(process, geometry)
        )

    return run


_D, _FLOW, _VOLUME, _LENGTH, _LOSS = 8e-5, 1e-6, 60e-6, 0.1, 0.06
"""The tube: diffusivity [m²/s], flow [m³/s], volume [m³], length [m], wall loss [1/s]; Pe = 2, Da = 3.6."""


def danckwerts(*, dropped_decade: bool = False, upwind: bool = False) -> list[Check]:
    """Outlet concentration of a flow-through tube: slopes in cell size, and errors on the meshes that suffice.

    Defects: `dropped_decade` of the diffusivity; `upwind` in place of the limited slopes.
    """
    D = _D / 10 if dropped_decade else _D
    second, first = (4, 8, 16), (16, 32, 64)
    errors = [_outlet_error(n, D, slopes=not upwind) for n in second]
    upwind_errors = [_outlet_error(n, D, slopes=False) for n in first]
    slope, upwind_slope = (
        -np.polyfit(np.log(counts), np.log(error), 1)[0] for counts, error in ((second, errors), (first, upwind_errors))
    )
    return [
        close(_TUBE, "limited slopes, slope of the outlet error in cell size (Danckwerts tube)", slope, 2.0, 0.2),
        at_most(_TUBE, "limited slopes, outlet error at 16 cells, relative", errors[-1], 0.01),
        close(_TUBE, "upwind, slope of the outlet error in cell size (Danckwerts tube)", upwind_slope, 1.0, 0.2),
        at_most(_TUBE, "upwind, outlet error at 64 cells, relative", upwind_errors[-1], 0.01),
    ]


@functools.cache
def _outlet_error(n: int, D: float, *, slopes: bool) -> float:
    """Relative error of the outlet of a tube of n cells after twelve times the residence time, when it is steady."""
    speed = _FLOW * _LENGTH / _VOLUME
    exact = danckwerts_outlet(speed * _LENGTH / _D, _LOSS * _LENGTH / speed)
    chamber = flow_through(n, volume_m3=_VOLUME, length_m=_LENGTH, flow_m3_s=_FLOW, sensors=0)
    geometry, process, dt = chamber.geometry(), _tube(chamber, D), jnp.asarray(_VOLUME / _FLOW)
    policy = Policy(order=2, slopes=slopes, stages=int(stages_needed(process, geometry, dt, slopes=slopes)))
    air = clean_air(process, geometry)
    state = jax.jit(lambda p: rollout(p, geometry, air, dt, 12, save=(), policy=policy).final)(process)
    return abs(float(state.N[1, -1] / state.N[:, -1].sum()) / 1e-6 - exact) / exact


def _tube(chamber: Chamber, D: float) -> Process:
    """1 ppm of one odorant flows in; nothing is released, and walls take it."""
    n = len(chamber.cells)
    process = made_up_process(chamber, 1, wall_per_s=_LOSS)
    inlet = jnp.zeros((1, 2, n)).at[:, 0].set(1 - 1e-6).at[:, 1].set(1e-6)
    law = MaxwellStefan(jnp.full((2, 2), D), jnp.ones(n - 1))
    return eqx.tree_at(
        lambda p: (p.source.amount, p.diffusion, p.inlet), process, (jnp.zeros(1), law, Schedule(jnp.zeros(1), inlet))
    )


def danckwerts_outlet(peclet: float, damkoehler: float) -> float:
    """Outlet over inlet concentration of a closed–closed tube with first-order loss."""
    a = np.sqrt(1 + 4 * damkoehler / peclet)
    top = 4 * a * np.exp(peclet / 2)
    return float(top / ((1 + a) ** 2 * np.exp(a * peclet / 2) - (1 - a) ** 2 * np.exp(-a * peclet / 2)))

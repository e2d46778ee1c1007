"""Order of the symmetric step in Δt against SciPy's Radau, and of the limited slopes in the size of the cells.

Each twin has one sub-flow of first order and must be seen.
"""

import functools
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

import unmixnet.physics.step as step_module
from tests.cases import ENOSE, GEOMETRY, normwise
from unmixnet.physics.adsorption import adsorb
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Process, Schedule, State, Status, clean_air
from unmixnet.physics.transport import stages_needed, transport
from unmixnet.simulation.builders import chain, flow_through
from unmixnet.simulation.validation.reference import ChamberEquations
from unmixnet.simulation.validation.synthetic_problem import made_up_process

T_END = 16.0
STEPS = (0.5, 0.25, 0.125, 0.0625)
PIECE = round(T_END / STEPS[0])
SECOND, FIRST = Policy(order=2, slopes=False, stages=3, checkpoint="none"), Policy(order=1, checkpoint="none")


@functools.cache
def process_with(inlet: str = "none", rates: float = 1.0, sites: float = 1.0) -> Process:
    """The e-nose with wall loss and sinks; its inlet brings clean air, odorants, or odorants that vary in time."""
    process = made_up_process(ENOSE, 3, wall_per_s=5e-3, odorant_fraction=0.02)
    surface = process.surface
    process = eqx.tree_at(
        lambda p: (p.surface.k_ads, p.surface.k_des, p.surface.sites),
        process,
        (rates * surface.k_ads, rates * surface.k_des, sites * surface.sites),
    )
    if inlet == "none":
        return process
    times = jnp.zeros(1) if inlet == "constant" else jnp.linspace(0, T_END, 5)
    brought = 1e-3 * jnp.ones(1) if inlet == "constant" else 1e-3 * jnp.asarray([0.0, 1.0, 0.2, 0.6, 0.5])
    V = GEOMETRY.volume.shape[0]
    odorants = brought[:, None, None] * jnp.ones((len(times), 3, V)) * jnp.asarray([1.0, 0.5, 0.2])[:, None]
    values = jnp.concatenate([1 - odorants.sum(1, keepdims=True), odorants], axis=1)
    return eqx.tree_at(lambda p: p.inlet, process, Schedule(times, values), is_leaf=lambda leaf: leaf is None)


@functools.cache
def truth(inlet: str = "none", rates: float = 1.0, sites: float = 1.0):
    """The end by Radau on the unsplit upwind equations."""
    return ChamberEquations(process_with(inlet, rates, sites), GEOMETRY).solve(T_END, rtol=1e-10)


def compiled(policy: Policy):
    """The rollout from clean air as a function of process and step: equal pieces, so that one program serves all."""

    @jax.jit
    def advance(process: Process, state: State, dt: jax.Array):
        run = rollout(process, GEOMETRY, state, dt, PIECE, save=(), policy=policy)
        return run.final, run.status

    def run(process: Process, dt: float) -> State:
        state = clean_air(process, GEOMETRY)
        for _ in range(round(T_END / dt / PIECE)):
            state, status = advance(process, state, jnp.asarray(dt))
            assert status == Status.OK
        return state

    return run


second, first = compiled(SECOND), compiled(FIRST)


def errors(run, case: tuple, steps=STEPS) -> dict[str, list[float]]:
    """Relative errors at the end for each step."""
    process, exact = process_with(*case), truth(*case)
    y0 = np.asarray(clean_air(process, GEOMETRY).y)
    found: dict[str, list[float]] = {"moles": [], "coverage": [], "readout": []}
    for dt in steps:
        final = run(process, dt)
        ours = final.N[1:].T, final.theta[1:].T, final.y - y0
        theirs = exact.N[-1][:, 1:], exact.theta[-1][:, 1:], exact.y[-1] - y0
        for name, a, b in zip(found, ours, theirs, strict=True):
            found[name].append(normwise(a, b))
    return found


def slopes(error: list[float]) -> list[float]:
    """log₂ of the ratio of successive errors."""
    return [float(np.log2(a / b)) for a, b in pairwise(error)]


@pytest.mark.parametrize("inlet", ["none", "constant", "varying"])
def test_halving_the_step_quarters_the_error(inlet):
    """Moles, coverage and readout, with sinks; the kinks of the inlet are ends of steps."""
    assert float(jnp.max(process_with(inlet).surface.k_des)) * STEPS[0] <= 1
    for quantity, error in errors(second, (inlet,)).items():
        assert min(slopes(error)) >= 1.8, (quantity, error)


def test_at_a_hundred_times_the_rates_it_is_stable_and_no_worse_than_first_order():
    case = ("none", 100.0)
    of_second, of_first = errors(second, case), errors(first, case)
    for quantity, error in of_second.items():
        assert error[-1] <= error[0]
        assert np.polyfit(np.log(STEPS), np.log(error), 1)[0] >= 0.95, (quantity, error)
        assert all(a <= 1.05 * b for a, b in zip(error, of_first[quantity], strict=True)), (quantity, error, of_first)


def _lagging_surface(*args, midpoint, **options):
    return adsorb(*args, midpoint=False, **options)


def _euler_transport(N, process, geometry, t, dt, stages, *, slopes):
    """One Euler stage over the whole step instead of the convex combination."""
    _, moved = transport(N, process, geometry, t, dt, stages, slopes=slopes)
    first, _ = transport(N, process, geometry, t, 1e-6 * dt, 2, slopes=slopes)
    return N + (first - N) / 1e-6, moved


def _held_target(y, goals, readout, dt):
    lag = jnp.exp(-dt / readout.tau_rise)
    return lag * y + (1 - lag) * goals[-1]


@pytest.mark.parametrize(
    ("name", "defect", "quantity", "sites"),
    [
        ("adsorb", _lagging_surface, "coverage", 1e3),
        ("transport", _euler_transport, "moles", 1.0),
        ("follow", _held_target, "readout", 1.0),
    ],
)
def test_twin_one_sub_flow_of_first_order_is_seen(monkeypatch, name, defect, quantity, sites):
    """The sinks are a thousand times larger where the surfaces are what is wrong, so that the gas feels them."""
    fine, case = (0.125, 0.0625, 0.03125) if sites > 1 else STEPS, ("none", 1.0, sites)
    if sites > 1:
        assert slopes(errors(second, case, fine)[quantity])[-1] >= 1.8
    monkeypatch.setattr(step_module, name, defect)
    assert slopes(errors(compiled(SECOND), case, fine)[quantity])[-1] < 1.5


# ---------------------------------------------------------------- steady states


def enose_at_rest() -> tuple:
    """The e-nose into which a constant inlet brings odorants, and nothing else does."""
    process = process_with("constant")
    return GEOMETRY, eqx.tree_at(lambda p: p.source.amount, process, 0 * process.source.amount)


def tube_at_rest() -> tuple:
    """A tube between two cells of fixed composition."""
    tube = chain(6, fixed_ends=True)
    held = jnp.zeros((1, 4, 6)).at[0, :, 0].set(jnp.asarray([0.9, 0.05, 0.03, 0.02]))
    held = held.at[0, :, -1].set(jnp.asarray([0.94, 0.01, 0.02, 0.03])).at[0, 0, 1:-1].set(1)
    process = made_up_process(tube, 3, wall_per_s=0.0)
    return tube.geometry(), eqx.tree_at(
        lambda p: (p.source.amount, p.boundary),
        process,
        (jnp.zeros(3), Schedule(jnp.zeros(1), held)),
        is_leaf=lambda leaf: leaf is None,
    )


def rests(geometry, process, policy: Policy) -> list[State]:
    """What becomes of clean air after 2,000 s in steps of 1 s and of a quarter."""

    @jax.jit
    def advance(state, dt):
        run = rollout(process, geometry, state, dt, 2000, save=(), policy=policy)
        return run.final, run.status

    ends = []
    for dt, pieces in ((1.0, 1), (0.25, 4)):
        state = clean_air(process, geometry)
        for _ in range(pieces):
            state, status = advance(state, jnp.asarray(dt))
            assert status == Status.OK
        ends.append(state)
    return ends


@pytest.mark.parametrize("slopes", [False, True], ids=["upwind", "slopes"])
@pytest.mark.parametrize("problem", [enose_at_rest, tube_at_rest])
def test_a_steady_state_does_not_depend_on_the_step(problem, slopes):
    geometry, process = problem()
    coarse, fine = rests(geometry, process, Policy(order=2, slopes=slopes, stages=4, checkpoint="none"))
    for name in ("N", "theta", "y"):
        assert normwise(getattr(coarse, name), getattr(fine, name)) < 1e-6, name
    assert np.min(fine.N[1:, 2]) > 0 and np.min(fine.theta[1:]) > 0


def test_twin_the_splitting_of_first_order_rests_where_its_step_says():
    coarse, fine = rests(*enose_at_rest(), FIRST)
    assert normwise(coarse.N[1:], fine.N[1:]) > 1e-4


# ---------------------------------------------------------------- space

SPEED, D, WIDTH, BEGIN, DURATION = 0.02, 1e-5, 0.08, 0.33, 15.0
"""Of a pulse in a tube of one metre: flow [m/s], dispersion [m²/s], sd and place of the pulse [m], time [s]."""


def pulse(n: int, place: float, width: float) -> np.ndarray:
    """Means over n cells of a Gaussian whose area does not depend on its width."""
    faces = np.linspace(0, 1, n + 1)
    return 1e-5 * n * np.diff(erf((faces - place) / (np.sqrt(2) * width)))


def pulse_error(n: int, *, slopes: bool) -> float:
    """L1 error, relative to the pulse, of the profile that n cells give."""
    tube = flow_through(n, volume_m3=1e-3, length_m=1.0, flow_m3_s=1e-3 * SPEED, sensors=0)
    geometry, process = tube.geometry(), made_up_process(tube, 1, wall_per_s=0.0)
    law = MaxwellStefan(jnp.full((2, 2), D), jnp.ones(n - 1))
    process = eqx.tree_at(lambda p: (p.source.amount, p.diffusion), process, (jnp.zeros(1), law))
    x, air = jnp.asarray(pulse(n, BEGIN, WIDTH)), clean_air(process, geometry)
    start = eqx.tree_at(lambda s: s.N, air, jnp.sum(air.N, axis=0) * jnp.stack([1 - x, x]))
    steps = round(DURATION * n / 32)
    dt = jnp.asarray(DURATION / steps)
    policy = Policy(order=2, slopes=slopes, stages=int(stages_needed(process, geometry, dt, slopes=slopes)))
    final = jax.jit(lambda p, s: rollout(p, geometry, s, dt, steps, save=(), policy=policy).final)(process, start)
    exact = pulse(n, BEGIN + SPEED * DURATION, np.sqrt(WIDTH**2 + 2 * D * DURATION))
    return float(np.sum(np.abs(final.N[1] / jnp.sum(final.N, axis=0) - exact)) / np.sum(exact))


def test_halving_the_cells_quarters_the_error_of_a_travelling_pulse():
    """The coarsest mesh has five cells within one standard deviation."""
    error = [pulse_error(n, slopes=True) for n in (64, 128, 256)]
    assert min(slopes(error)) >= 1.8, error


def test_twin_upwind_it_is_of_first_order():
    error = [pulse_error(n, slopes=False) for n in (64, 128, 256)]
    assert max(slopes(error)) < 1.3, error
    assert error[-1] > pulse_error(64, slopes=True)

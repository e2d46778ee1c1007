"""The independent NumPy chamber: the rollout converges to it, and its parts obey the same laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.physics.diffusion import fluxes
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import clean_air
from unmixnet.simulation.builders import portable_enose
from unmixnet.simulation.validation.reference import ChamberEquations
from unmixnet.simulation.validation.synthetic_problem import made_up_process


@pytest.fixture(scope="module")
def problem():
    with jax.enable_x64(True):
        chamber = portable_enose()
        geometry, process = chamber.geometry(), made_up_process(chamber, 4, odorant_fraction=1e-2)
        yield process, geometry, clean_air(process, geometry)


def _errors(problem, reference, steps):
    process, geometry, start = problem
    with jax.enable_x64(True):
        dt = jnp.asarray(20 / steps)
        final = jax.jit(lambda p, s: rollout(p, geometry, s, dt, steps, save=(), policy=Policy(order=1)).final)(
            process, start
        )
    N, theta, y = (np.asarray(a).T for a in (final.N, final.theta, final.y))
    return np.array(
        [
            np.max(np.abs(N - reference.N[-1])[:, 1:] / reference.N[-1][:, 1:]),
            np.max(np.abs(theta - reference.theta[-1])),
            np.max(np.abs(y - reference.y[-1])),
        ]
    )


def test_rollout_converges_to_the_reference_at_first_order(problem):
    reference = ChamberEquations(problem[0], problem[1]).solve(20.0, rtol=1e-9)
    coarse, fine = _errors(problem, reference, 100), _errors(problem, reference, 1600)
    assert np.all(fine < 2e-3)
    order = np.log(coarse / fine) / np.log(16)
    assert np.all(np.abs(order - 1) < 0.2)


def test_reference_flux_is_the_flux_of_the_rollout(problem):
    process, geometry, start = problem
    N = np.asarray(start.N).T * 1.0
    N[:, 1:] = np.random.default_rng(1).uniform(1e-9, 1e-3, N[:, 1:].shape) * N[:, :1]
    with jax.enable_x64(True):
        J, _ = fluxes(jnp.asarray(N.T), process.diffusion, geometry)
    expected = ChamberEquations(process, geometry).flux(N)
    assert np.allclose(J.T, expected, rtol=1e-9, atol=0)


def test_columns_of_the_right_hand_side_are_independent(problem):
    equations = ChamberEquations(problem[0], problem[1])
    rng = np.random.default_rng(2)
    u = np.abs(equations.clean_air()[:, None] * rng.uniform(0.5, 1, (1, 3))) + 1e-9
    together = equations.rhs(3.0, u)
    assert np.allclose(together, np.stack([equations.rhs(3.0, column) for column in u.T], axis=1), rtol=1e-12)


def test_right_hand_side_conserves_moles_between_gas_and_surfaces(problem):
    process, geometry, start = problem
    equations = ChamberEquations(process, geometry)
    N = np.asarray(start.N).T * 1.0
    N[:, 1:] = 1e-4 * N[:, :1]
    theta = np.full((equations.M, equations.S), 1 / equations.S)
    dN, dtheta, _ = equations.unpack(equations.rhs(5.0, equations.pack(N, theta, np.zeros(equations.M))))
    surfaces = (equations.sites[:, None] * dtheta).sum(0)
    released = equations.amount * equations._profile(5.0)
    lost = (equations.wall * N)[:, 1:].sum(0) + (equations.outlet / equations.volume) @ N[:, 1:]
    assert np.allclose(dN[:, 1:].sum(0) + surfaces, released - lost, rtol=1e-9)

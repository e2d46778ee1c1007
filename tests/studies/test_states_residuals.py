"""Residuals of projected states: at the floor for the simulator's own, and higher for every broken law."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from studies.states.residuals import mass_errors, ms_residuals
from studies.states.worlds import frozen_states, laws_of
from unmixnet.model.predict import single_precision
from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration import FrozenSimulator
from unmixnet.training.calibration.theta import Jar, prior_of, process_of

SHARES = np.array([[1.0, 0.0], [0.5, 0.7]])


@pytest.fixture(scope="module")
def simulator() -> FrozenSimulator:
    chamber = portable_enose()
    jar = Jar(chamber, (1.0,) * 4, "exposed", "constant", 1.0, 8.0)
    with single_precision():
        theta = prior_of(2, (0.0,) * 4).mean
        process = process_of(replace(theta, D=jnp.log(jnp.array([7e-6, 2e-5, 1e-5], jnp.float32))), jar)
    return FrozenSimulator(("x", "y"), chamber, process, 2.0, 1.0, True)


@pytest.fixture(scope="module")
def solved(simulator):
    return frozen_states(simulator, SHARES, steps=8, exposure=np.array([0.5, 0.7]))


@pytest.fixture(scope="module")
def laws(simulator):
    return laws_of(simulator)


def test_the_simulator_conserves_mass_in_this_reading(solved, laws):
    assert mass_errors(solved, laws, SHARES).max() < 1e-6


def test_the_simulator_obeys_maxwell_stefan_nearly(solved, laws):
    assert ms_residuals(solved, laws, SHARES).max() < 0.02


def test_states_of_every_cell_agree_with_those_of_the_sensors(simulator, solved):
    found = simulator.simulate(SHARES, seconds=8, exposure=np.array([0.5, 0.7]))
    np.testing.assert_allclose(solved.at_sensors, found.concentration, rtol=1e-6)
    np.testing.assert_allclose(solved.mass, found.mass, rtol=1e-6)
    np.testing.assert_array_equal(solved.flux, found.flux)


@pytest.mark.parametrize("factor", [0.0, -1.0, 2.0])
def test_a_flux_that_breaks_maxwell_stefan_raises_both_residuals(solved, laws, factor):
    broken = replace(solved, flux=factor * solved.flux)
    assert ms_residuals(broken, laws, SHARES).min() > 5 * ms_residuals(solved, laws, SHARES).max()
    assert mass_errors(broken, laws, SHARES).min() > 100 * mass_errors(solved, laws, SHARES).max()


def test_exchanged_substances_break_maxwell_stefan_but_leave_the_scalars(solved, laws):
    turned = replace(solved, flux=solved.flux[..., ::-1])
    np.testing.assert_allclose(turned.scalars()["J"], solved.scalars()["J"])
    assert ms_residuals(turned, laws, SHARES).min() > 5 * ms_residuals(solved, laws, SHARES).max()


def test_a_source_that_is_left_out_is_seen(solved, laws):
    assert mass_errors(solved, laws, 0 * SHARES).min() > 1e-3


def test_walls_that_are_left_out_are_seen(solved, laws):
    bare = type(laws)(replace(laws.process, wall=None), laws.geometry, laws.step_s, laws.carrying, laws.spreading)
    assert mass_errors(solved, bare, SHARES).min() > 100 * mass_errors(solved, laws, SHARES).max()


def test_coverage_that_jumps_without_taking_gas_is_seen(solved, laws):
    jumped = solved.coverage.copy()
    jumped[:, 4:] += 0.2
    assert mass_errors(replace(solved, coverage=jumped), laws, SHARES).min() > mass_errors(solved, laws, SHARES).max()

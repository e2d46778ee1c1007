"""Cells with a temperature or pressure of their own: fewer moles, faster diffusion, warmer sensors."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unmixnet as um
from unmixnet.physics.adaptive import rollout_adaptive
from unmixnet.physics.rollout import Policy
from unmixnet.simulation.simulate import simulate
from unmixnet.simulation.validation.reference import ChamberEquations

ENOSE = um.example("enose").replace("duration_s = 180.0", "duration_s = 10.0").replace("tolerance = 1e-4", "dt_s = 0.5")
WARM = "[conditions.cells.headspace]\ntemperature_K = 333.15\n[species]"
CLIMATE = "[[sensors]]\nbaseline_per_K = 0.01\ngain_per_K = 0.02\n"


def _with(text: str, more: str) -> str:
    return text.replace("[species]", more, 1)


def _still(text: str) -> str:
    """Without a release, which adds moles."""
    return text.replace("amount_mol = [3.0e-7, 1.6e-7, 0.9e-7]", "amount_mol = 0.0")


@pytest.fixture(scope="module")
def plain():
    return um.build(um.parse_simulation(ENOSE))


@pytest.fixture(scope="module")
def warm():
    return um.build(um.parse_simulation(_with(ENOSE, WARM)))


def test_a_cell_at_sixty_degrees_holds_fewer_moles(plain, warm):
    cold, hot = (np.asarray(problem.start.N).sum(0) for problem in (plain, warm))
    assert hot[0] / cold[0] == pytest.approx(298.15 / 333.15)
    np.testing.assert_allclose(hot[1:], cold[1:])


def test_no_cell_fills_up_or_empties_while_gas_flows_through_warm_ones(plain):
    problem = um.build(um.parse_simulation(_still(_with(ENOSE, WARM))))
    total = simulate(problem).moles.sum(axis=2)
    np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), rtol=1e-9)
    # twin: flows that do not expand fill the warm cell up
    process = eqx.tree_at(lambda p: p.flow, problem.process, plain.process.flow)
    total = simulate(replace(problem, process=process)).moles.sum(axis=2)
    assert np.ptp(total[:, 1]) > 1e-3 * total[0, 1]


def test_diffusion_grows_with_temperature_and_falls_with_pressure():
    tables = {
        "species": {"gases": ["N2", "H2"]},
        "conditions": {"cells": {"c0": {"temperature_K": 350.0}, "c1": {"temperature_K": 350.0, "pressure_Pa": 2e5}}},
        "run": {"duration_s": 1},
    }
    scale = um.build(um.parse_simulation(tables), chamber=um.chain(3, sensors=0)).process.diffusion.scale
    T, p = np.array([350.0, 350.0, 298.15]), np.array([101325.0, 2e5, 101325.0])
    T, p = (T[1:] + T[:-1]) / 2, (p[1:] + p[:-1]) / 2
    np.testing.assert_allclose(scale, (T / 298.15) ** 1.75 * 101325 / p, rtol=1e-6)


def test_equal_cells_change_nothing(plain):
    equal = "[conditions.cells.'*']\ntemperature_K = 298.15\npressure_Pa = 101325.0\n[species]"
    other = um.build(um.parse_simulation(_with(ENOSE, equal)))
    assert other.process.conditions.air is None
    for one, two in zip(jax.tree.leaves(plain.process), jax.tree.leaves(other.process), strict=True):
        np.testing.assert_array_equal(one, two)


def test_all_cells_warmer_is_the_chamber_warmer():
    text = ENOSE.replace("[[sensors]]\n", CLIMATE).replace("duration_s = 10.0", "duration_s = 5.0")
    cells = um.build(um.parse_simulation(_with(text, "[conditions.cells.'*']\ntemperature_K = 310.0\n[species]")))
    whole = um.build(um.parse_simulation(text.replace("temperature_K = 298.15", "temperature_K = 310.0")))
    # flows are given at the temperature of the chamber
    factor = 310.0 / 298.15
    np.testing.assert_allclose(cells.process.flow.velocity, factor * np.asarray(whole.process.flow.velocity))
    np.testing.assert_allclose(
        np.asarray(cells.process.diffusion.D)[0, 1] * np.asarray(cells.process.diffusion.scale),
        np.asarray(whole.process.diffusion.D)[0, 1],
    )
    np.testing.assert_allclose(cells.start.N, whole.start.N)
    np.testing.assert_allclose(cells.start.y, whole.start.y)


def test_a_warm_cell_moves_only_the_sensors_in_it():
    text = ENOSE.replace("[[sensors]]\n", CLIMATE)
    cold = um.build(um.parse_simulation(text))
    warm = um.build(um.parse_simulation(_with(text, "[conditions.cells.board1]\ntemperature_K = 308.15\n[species]")))
    moved = np.asarray(warm.process.readout.baseline - cold.process.readout.baseline)
    np.testing.assert_allclose(moved, [0, 0.1, 0, 0])
    np.testing.assert_allclose(warm.process.readout.gain / cold.process.readout.gain, [1, np.exp(0.2), 1, 1])


def test_a_warm_source_releases_as_a_warm_chamber_does(warm, plain):
    latent, R = np.array([42.3e3, 49.0e3, 50.0e3]), 8.314462618
    expected = np.exp(-latent / R * (1 / 333.15 - 1 / 298.15))
    np.testing.assert_allclose(warm.process.source.amount / plain.process.source.amount, expected, rtol=1e-6)


def test_the_independent_twin_agrees_in_warm_cells():
    more = "[conditions.cells.'board*']\ntemperature_K = 333.15\n[conditions.cells.lid]\npressure_Pa = 9e4\n[species]"
    text = _with(ENOSE, more).replace("dt_s = 0.5", "tolerance = 1e-6\nsave_every_s = 10.0")
    problem = um.build(um.parse_simulation(text))
    options = {"tolerance": 1e-6, "policy": Policy(order=2, slopes=False)}  # the twin is upwind
    solve = jax.jit(lambda p: rollout_adaptive(p, problem.geometry, problem.start, jnp.array([10.0]), **options))
    run = solve(problem.process)
    equations = ChamberEquations(problem.process, problem.geometry)
    u = equations.pack(np.asarray(problem.start.N).T, np.asarray(problem.start.theta).T, problem.start.y)
    reference = equations.solve(10.0, rtol=1e-8, start=u)
    np.testing.assert_allclose(np.asarray(run.final.N).T, reference.N[-1], rtol=1e-4, atol=1e-14)
    np.testing.assert_allclose(run.final.y, reference.y[-1], atol=1e-4)
    np.testing.assert_allclose(equations.clean_air(), u)

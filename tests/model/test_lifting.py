"""Lifting: a rollout starts from clean air or from the steady state, at the first sample, and keeps the books."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from tests.cases import has_nan, normwise, seeds
from unmixnet.model.lifting import lift
from unmixnet.model.release import CONCENTRATION
from unmixnet.physics.adsorption import stationary_coverage
from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.rollout import rollout
from unmixnet.training.losses import conservation_loss

from .tiny import CHAMBER, K, M, inference, model, quick_jit

GEOMETRY = CHAMBER.geometry()
MODEL = model()
FIRST = jnp.asarray([1.3, 0.8])
SECONDS = 20


@quick_jit
def process_of(model, inference, shares):
    return model.process(inference, shares, duration_s=float(SECONDS))


@quick_jit
def lifted(process, first, c):
    return lift(process, GEOMETRY, first, c)


@quick_jit
def run(process, start):
    save = ("N", "theta", "y", "reservoirs")
    return rollout(process, GEOMETRY, start, jnp.ones(()), SECONDS, save=save, policy=MODEL.policy())


def steady_concentration(process):
    """ε q/Q of the process itself."""
    return process.source.amount / jnp.sum(process.flow.inlet_flow)


def problem(seed: int):
    shares = jnp.asarray(np.random.default_rng(seed).dirichlet(np.ones(K)))
    process = process_of(MODEL, inference(seed), shares)
    return process, steady_concentration(process)


def drift(values, start) -> float:
    """How far a quantity moves from its start, as a share of its size."""
    return float(np.max(np.abs(values - start)) / np.max(np.abs(start)))


def test_clean_air_has_no_odorant_and_starts_at_the_first_sample():
    process, _ = problem(0)
    state = lifted(process, FIRST, None)
    assert np.all(state.N[1:] == 0)
    np.testing.assert_array_equal(state.theta, np.eye(K + 1)[:, [0] * M])
    np.testing.assert_array_equal(state.y, FIRST)
    np.testing.assert_allclose(lifted(process, None, None).y, process.readout.baseline, atol=1e-12)


@settings(max_examples=10)
@given(seed=seeds)
def test_an_exposed_chamber_holds_its_concentration_everywhere_and_a_settled_surface(seed):
    process, c = problem(seed)
    state = lifted(process, FIRST, c)
    np.testing.assert_allclose(state.N[1:] / GEOMETRY.volume, np.tile(c[:, None], len(CHAMBER.cells)))
    total = air_concentration(process.conditions) * GEOMETRY.volume
    np.testing.assert_allclose(np.sum(state.N, axis=0), total, rtol=1e-12)
    np.testing.assert_allclose(np.sum(state.theta, axis=0), 1, atol=1e-12)
    expected = [stationary_coverage(process.surface.k_ads[:, m] * c, process.surface.k_des[:, m]) for m in range(M)]
    np.testing.assert_allclose(state.theta, np.stack(expected, axis=1))
    np.testing.assert_array_equal(state.y, FIRST)


@settings(max_examples=10)
@given(seed=seeds)
def test_an_exposed_chamber_stays_as_it_is(seed):
    process, c = problem(seed)
    start = lifted(process, None, c)
    saved = run(process, start).saved
    # what is left is the first-order error of the splitting, Δt Q/V in the smallest cell
    assert drift(saved.N[:, 1:], start.N[1:]) < 0.1
    assert drift(saved.theta[:, 1:], start.theta[1:]) < 0.1
    assert drift(saved.y - process.readout.baseline, start.y - process.readout.baseline) < 0.1


def test_twin_a_start_that_is_not_the_steady_state_does_not_stay():
    process, c = problem(0)
    for wrong in (0.3 * c, 3 * c):
        start = lifted(process, None, wrong)
        assert drift(run(process, start).saved.N[:, 1:], start.N[1:]) > 0.2
    clean = run(process, lifted(process, None, None)).saved
    assert np.all(np.sum(clean.theta[-1, 1:], axis=0) > 0.01)


def test_a_first_sample_that_does_not_fit_is_forgotten_with_the_lag_of_the_sensor():
    process, c = problem(0)
    settled, moved = lifted(process, None, c), lifted(process, FIRST, c)
    gap = np.abs(run(process, moved).saved.y - run(process, settled).saved.y)
    assert np.all(np.abs(FIRST - settled.y) > 0.05)
    assert np.all(gap[-1] < 0.6 * np.abs(FIRST - settled.y))
    assert np.all(np.diff(gap, axis=0) < 0)


@settings(max_examples=10)
@given(seed=seeds)
def test_every_mole_is_somewhere(seed):
    process, c = problem(seed)
    for start in (lifted(process, FIRST, c), lifted(process, FIRST, None)):
        done = run(process, start)
        saved = done.saved
        assert done.status == 0
        assert conservation_loss(saved.N, saved.theta, saved.reservoirs, start, process.surface.sites) < 1e-12


def test_a_concentration_beyond_the_air_itself_leaves_room_for_the_carrier():
    process, _ = problem(0)
    start = lifted(process, FIRST, jnp.full(K, 1e3))
    assert np.all(start.N > 0)
    assert np.all(start.N[0] >= 0.49 * np.sum(start.N, axis=0))
    done = run(process, start)
    assert done.status <= 1
    assert not has_nan(done)


@quick_jit
def started(model, inference, shares):
    return model.reconstruct(inference, None, 3, shares=shares).start


def untouched_flow():
    """The model with the chamber's own draught, as before training."""
    still = jax.tree.map(jnp.zeros_like, MODEL.flow.modulation)
    return eqx.tree_at(lambda m: (m.flow.factor, m.flow.modulation), MODEL, (jnp.zeros(()), still))


def start_error(model) -> float:
    """How far the start of an exposed chamber is from the steady state of its own source and flow."""
    shares, read = jnp.asarray([0.6, 0.3, 0.1]), inference(1)
    start = started(model, read, shares)
    c = np.asarray(start.N[1:] / GEOMETRY.volume)
    return normwise(c, np.tile(steady_concentration(process_of(model, read, shares))[:, None], c.shape[1]))


def test_the_model_starts_an_exposed_chamber_at_its_steady_state():
    assert start_error(untouched_flow()) < 1e-9


@pytest.mark.parametrize("factor", [0.8, -0.8])
def test_a_flow_that_was_learned_moves_the_steady_state_with_it(factor):
    assert start_error(eqx.tree_at(lambda m: m.flow.factor, untouched_flow(), jnp.asarray(factor))) < 1e-9


def test_the_typical_release_of_one_substance_makes_the_typical_concentration():
    plain = eqx.tree_at(lambda m: m.release, untouched_flow(), jax.tree.map(jnp.zeros_like, MODEL.release))
    process = process_of(plain, plain.uninformed(), jnp.asarray([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(steady_concentration(process), [CONCENTRATION, 0, 0], rtol=1e-9)

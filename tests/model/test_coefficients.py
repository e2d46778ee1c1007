"""Coefficient networks: whatever is learned, what they set is physically possible, bounded and the right way round."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import seeds
from unmixnet.model.layers import N_CELL, N_EDGE, cell_features, edge_features
from unmixnet.model.unmixnet import _embeddings
from unmixnet.physics.readout import target
from unmixnet.physics.state import Status, check, clean_air, verdicts, with_samples

from .tiny import CHAMBER, SETTINGS, SIGN, K, M, filled, inference, largest, model, quick_jit, shapes

SHAPE = shapes(SETTINGS)
MODEL, GEOMETRY = model(), CHAMBER.geometry()
SHARES = jnp.asarray([0.5, 0.3, 0.2])


@quick_jit
def coefficients(model, inference, shares, e):
    """Everything that the networks set, and whether the solver takes it."""
    process = model.process(inference, shares, e, duration_s=10.0)
    return process, _status(process)


def _status(process):
    alone = (with_samples(tree) for tree in (process, clean_air(process, GEOMETRY)))
    return check(verdicts(*alone, jnp.ones(())))[0]


@quick_jit
def place_in(model, inference):
    return model.source_place(inference)


@quick_jit
def signal(model, inference, theta):
    process = model.process(inference, SHARES, duration_s=10.0)
    return target(theta, process.readout, process.conditions) - process.readout.baseline


@given(seed=seeds, size=st.floats(0.1, 10))
def test_the_solver_takes_whatever_the_networks_set(seed, size):
    e = jnp.asarray(np.random.default_rng(seed).normal(size=2) * [10, 0.5])
    process, status = coefficients(filled(SHAPE, seed, size), inference(seed, size), SHARES, e)
    assert status == 0
    D = np.asarray(process.diffusion.D)
    np.testing.assert_array_equal(D, D.T)
    assert np.all(D >= 1e-6)
    assert np.all(process.surface.k_ads > 0)
    assert np.all(process.surface.k_des > 0)
    assert np.all(process.readout.beta > 0)


def test_twin_a_table_over_ordered_pairs_would_be_refused():
    process, _ = coefficients(MODEL, inference(), SHARES, jnp.zeros(2))
    ordered = eqx.tree_at(lambda p: p.diffusion.D, process, process.diffusion.D.at[0, 1].multiply(1.01))
    assert quick_jit(_status)(ordered) == Status.BAD_DIFFUSION


@given(seed=seeds, size=st.floats(0.1, 1e3))
def test_a_sample_moves_no_coefficient_beyond_its_bound(seed, size):
    here = coefficients(MODEL, MODEL.uninformed(), SHARES, jnp.zeros(2))[0]
    there = coefficients(MODEL, inference(seed, size), SHARES, jnp.zeros(2))[0]
    for part in ("surface", "diffusion.scale", "flow", "readout.gain", "readout.g", "readout.tau_rise"):
        a, b = (eqx.filter(_at(process, part), eqx.is_inexact_array) for process in (here, there))
        ratios = jax.tree.map(lambda x, y: np.abs(np.log(np.where(x == 0, 1, y) / np.where(x == 0, 1, x))), a, b)
        # each side may be at the other end of its range
        assert largest(ratios) <= 2 * SETTINGS.modulation + 1e-9
    assert largest(there.readout.baseline - here.readout.baseline) <= 2 * SETTINGS.modulation + 1e-9
    np.testing.assert_array_equal(there.diffusion.D, here.diffusion.D)


def _at(process, part: str):
    for name in part.split("."):
        process = getattr(process, name)
    return process


def test_without_modulation_two_samples_have_the_same_coefficients():
    pure = model(modulation=0.0)
    one, other = (coefficients(pure, inference(seed), SHARES, jnp.zeros(2))[0] for seed in (1, 2))
    strengths = eqx.tree_at(lambda p: p.source.amount, other, one.source.amount)
    assert eqx.tree_equal(one, strengths)
    assert np.any(other.source.amount != one.source.amount)


def test_twin_with_modulation_they_differ():
    one, other = (coefficients(MODEL, inference(seed), SHARES, jnp.zeros(2))[0] for seed in (1, 2))
    for part in ("surface.k_ads", "diffusion.scale", "flow.velocity", "readout.gain", "readout.baseline"):
        assert np.any(_at(one, part) != _at(other, part)), part


@given(seed=seeds)
def test_a_sensor_with_a_negative_sign_falls_and_the_other_rises(seed):
    theta = jnp.asarray(np.random.default_rng(seed).dirichlet(np.ones(K + 1), M).T)
    moved = np.asarray(signal(filled(SHAPE, seed), inference(seed), theta))
    assert np.all(np.sign(moved) == SIGN)


def test_twin_with_the_signs_exchanged_they_move_the_other_way():
    theta = jnp.full((K + 1, M), 1 / (K + 1))
    swapped = eqx.tree_at(lambda m: m.transduction, MODEL, replace(MODEL.transduction, sign=(-1.0, 1.0)))
    assert np.all(np.sign(signal(swapped, inference(), theta)) == [-1, 1])


def test_release_is_proportional_to_the_shares_and_nothing_else_follows_them():
    one, two = (coefficients(MODEL, inference(), SHARES * factor, jnp.zeros(2))[0] for factor in (1, 2))
    np.testing.assert_allclose(two.source.amount, 2 * one.source.amount)
    assert eqx.tree_equal(eqx.tree_at(lambda p: p.source.amount, two, one.source.amount), one)


def test_edgewise_every_pair_has_its_own_bounded_factor_on_every_edge():
    free = coefficients(model(edgewise=True), inference(), SHARES, jnp.zeros(2))[0].diffusion
    shared = coefficients(MODEL, inference(), SHARES, jnp.zeros(2))[0].diffusion
    assert free.form == "direct"
    assert free.D.shape == (K + 1, K + 1, len(CHAMBER.edges))
    np.testing.assert_allclose(free.D, np.swapaxes(free.D, 0, 1), rtol=1e-14)
    bend = np.log(free.D / shared.D[..., None])
    assert np.max(np.abs(bend)) <= SETTINGS.modulation
    assert np.ptp(bend, axis=2).max() > 1e-3
    assert np.ptp(bend[..., 0]) > 1e-3


def test_an_inferred_place_is_a_distribution_that_starts_at_the_source():
    drawn = model(source="inferred")
    place = np.asarray(place_in(drawn, inference()))
    assert np.all(place > 0)
    assert place.sum() == pytest.approx(1, abs=1e-12)
    untrained = eqx.tree_at(lambda m: m.release.place, drawn, jax.tree.map(jnp.zeros_like, drawn.release.place))
    assert np.argmax(place_in(untrained, inference())) == CHAMBER.index["headspace"]


def test_a_known_place_is_the_source_cell():
    np.testing.assert_array_equal(np.flatnonzero(place_in(MODEL, inference())), [CHAMBER.index["headspace"]])


def test_scores_of_an_edge_that_is_turned_round_are_exchanged():
    drawn = model(flow="scores")
    flow = coefficients(drawn, inference(), SHARES, jnp.zeros(2))[0].flow
    edges = CHAMBER.edges
    turned = replace(edges[0], tail=edges[0].head, head=edges[0].tail, velocity_m_s=-edges[0].velocity_m_s)
    other = replace(drawn, chamber=replace(CHAMBER, edges=(turned, *edges[1:])))
    back = coefficients(other, inference(), SHARES, jnp.zeros(2))[0].flow
    np.testing.assert_allclose(back.forward[:, 0], flow.backward[:, 0], rtol=1e-6)
    np.testing.assert_allclose(back.backward[:, 0], flow.forward[:, 0], rtol=1e-6)
    assert np.max(np.abs(flow.forward[:, 0] - flow.backward[:, 0])) > 1e-3
    closed = np.asarray(CHAMBER.velocities().outlet_flow) == 0
    assert np.all(np.isneginf(np.asarray(flow.outlet)[:, closed]))


def test_features_are_finite_and_of_their_announced_width():
    cells, edges = cell_features(CHAMBER), edge_features(CHAMBER)
    assert cells.shape == (len(CHAMBER.cells), N_CELL)
    assert edges.shape == (len(CHAMBER.edges), N_EDGE)
    assert np.all(np.isfinite(cells))
    assert np.all(np.isfinite(edges))
    np.testing.assert_array_equal(cells[:, :-1].sum(axis=1), 1)


def test_properties_that_are_alike_give_species_that_start_alike():
    properties = np.random.default_rng(0).normal(size=(K + 1, 6))
    properties[2] = properties[1]
    r = np.asarray(_embeddings(K + 1, 16, properties, jax.random.key(0)))
    near, far = np.linalg.norm(r[1] - r[2]), [np.linalg.norm(r[1] - r[i]) for i in (0, 3)]
    assert near < 0.5 * min(far)

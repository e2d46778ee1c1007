"""Laws of the edge flux: it sums to zero, dissipates, and knows its limits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import edges, normwise, relative, seeds
from tests.physics.batch import side_by_side
from unmixnet.physics import maxwell_stefan
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux, pair_diffusivity, resistance

FORMS = ("exact", "direct", "ideal", "weighted", "regularised", "fick")
fractions = st.floats(-9, -0.1).map(lambda power: 10.0**power)
solve = eqx.filter_jit(edge_flux)


def imbalance(J) -> float:
    return float(np.max(np.abs(np.sum(J, axis=0)) / np.sum(np.abs(J), axis=0)))


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds, odorants=fractions)
def test_fluxes_sum_to_zero_at_every_concentration(form, seed, odorants):
    J, _ = solve(*edges(seed, 13, odorants, form=form))
    assert np.all(np.sum(np.abs(J), axis=0) > 0)
    assert imbalance(J) <= 1e-12


def test_twin_fluxes_closed_by_the_carriers_own_gradient_do_not_sum_to_zero(monkeypatch):
    monkeypatch.setattr(maxwell_stefan, "close", lambda v: v)
    J, _ = edge_flux(*edges(0, 13, 1e-6, form="direct"))
    assert imbalance(J) > 1e-12


@given(seed=seeds, odorants=fractions)
def test_permuting_the_odorants_permutes_the_flux(seed, odorants):
    law, tail, head, c, length = edges(seed, 13, odorants)
    order = np.append(0, 1 + np.random.default_rng(seed).permutation(12))
    J, _ = solve(law, tail, head, c, length)
    mixed = eqx.tree_at(lambda m: m.D, law, law.D[np.ix_(order, order)])
    J_mixed, _ = solve(mixed, tail[order], head[order], c, length)
    assert relative(J_mixed, J[order]) <= 1e-11
    assert relative(J_mixed, J) > 1e-3


@given(seed=seeds, odorants=fractions)
def test_two_species_follow_fick_with_their_pair_diffusivity(seed, odorants):
    law, tail, head, c, length = edges(seed, 2, odorants)
    J, _ = solve(law, tail, head, c, length)
    fick = -c * law.scale * law.D[0, 1] * (head - tail)[1] / length
    assert relative(J[1], fick) <= 1e-12
    dropped_decade = 0.1 * fick
    assert relative(J[1], dropped_decade) > 1


@given(seed=seeds, odorants=fractions)
def test_equal_diffusivities_are_fick(seed, odorants):
    law, tail, head, c, length = edges(seed, 13, odorants, spread=1 + 1e-15)
    J, _ = solve(law, tail, head, c, length)
    fick = -(c * law.scale / length) * 1e-5 * (head - tail)
    assert relative(J[1:], fick[1:]) <= 1e-12


@given(seed=seeds)
def test_unequal_diffusivities_are_not_fick(seed):
    law, tail, head, c, length = edges(seed, 13, 0.3)
    J, _ = solve(law, tail, head, c, length)
    fick = -(c * law.scale / length) * law.D[0, :, None] * (head - tail)
    assert normwise(J[1:], fick[1:]) > 1e-3


@pytest.mark.parametrize("form", ["exact", "direct"])
@given(seed=seeds)
def test_an_absent_species_without_a_gradient_has_no_flux(form, seed):
    law, tail, head, c, length = edges(seed, 13, 0.3, form=form)
    absent = (jnp.arange(13) == 4)[:, None]
    tail, head = (jnp.where(absent, 0, x) / jnp.sum(jnp.where(absent, 0, x), axis=0) for x in (tail, head))
    J, _ = solve(law, tail, head, c, length)
    assert np.all(J[4] == 0)
    assert np.all(J[5] != 0)


@pytest.mark.parametrize("form", ["exact", "direct"])
@given(seed=seeds)
def test_no_gradient_no_flux(form, seed):
    law, tail, _, c, length = edges(seed, 13, 0.3, form=form)
    J, _ = solve(law, tail, tail, c, length)
    assert np.all(J == 0)


@given(seed=seeds, odorants=fractions)
def test_one_matrix_per_edge_gives_the_flux_of_the_shared_matrix(seed, odorants):
    law, *rest = edges(seed, 13, odorants)
    own = MaxwellStefan(jnp.broadcast_to(law.D[..., None], (13, 13, 6)), law.scale)
    assert relative(solve(own, *rest)[0], solve(law, *rest)[0]) <= 1e-10


@given(seed=seeds, odorants=fractions)
def test_one_sample_alone_equals_the_sample_in_a_batch(seed, odorants):
    first, second = edges(seed, 13, odorants), edges(seed + 1, 13, 0.5)
    # what a batch shares without an axis of samples is D
    batch = [first, (eqx.tree_at(lambda m: m.D, second[0], first[0].D), *second[1:])]
    J, _ = solve(*side_by_side(*batch))
    for k, alone in enumerate(batch):
        assert relative(J[..., k], solve(*alone)[0]) <= 1e-12


@given(seed=seeds, odorants=fractions)
def test_one_sample_alone_equals_the_sample_under_vmap(seed, odorants):
    batch = [edges(seed, 13, odorants), edges(seed + 1, 13, 0.5)]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *batch)
    J, _ = solve_batch(together)
    for alone, J_alone in zip(batch, J, strict=True):
        assert relative(J_alone, solve(*alone)[0]) <= 1e-12


solve_batch = eqx.filter_jit(lambda args: jax.vmap(lambda a: edge_flux(*a))(args))


@given(seed=seeds, odorants=fractions)
def test_the_friction_of_the_fluxes_dissipates(seed, odorants):
    law, tail, head, c, length = edges(seed, 13, odorants)
    J, _ = solve(law, tail, head, c, length)
    x = 0.5 * (tail + head)
    w = J / x
    friction = np.einsum("ie,ij,je,ije->e", x, resistance(law.D), x, (w[:, None] - w[None]) ** 2)
    work = -c * law.scale * np.sum(w * (head - tail) / length, axis=0)
    assert np.all(friction > 0)
    # ½ Σ γ (wᵢ − wⱼ)² = −c w·g: what the gradients do is what friction takes; uphill flux would turn the sign
    assert relative(0.5 * friction, work) <= 1e-9


def test_the_direct_solver_replaces_an_iteration_that_is_cut_short(monkeypatch):
    arguments = edges(3, 13, 0.5)
    expected, fell_back = edge_flux(*arguments)
    assert not np.any(fell_back)
    monkeypatch.setattr(maxwell_stefan, "_SWEEPS", 1)
    J, fell_back = edge_flux(*arguments)
    assert np.all(fell_back)
    assert relative(J, expected) <= 1e-11


def test_twin_a_short_iteration_that_is_not_checked_is_wrong(monkeypatch):
    arguments = edges(3, 13, 0.5)
    expected, _ = edge_flux(*arguments)
    monkeypatch.setattr(maxwell_stefan, "_SWEEPS", 1)
    monkeypatch.setattr(maxwell_stefan, "_direct_unless", lambda good, J, *_: (J, jnp.zeros_like(good)))
    assert relative(edge_flux(*arguments)[0], expected) > 1e-6


@given(seed=seeds)
def test_any_numbers_make_a_symmetric_positive_diffusivity(seed):
    raw = jnp.asarray(np.random.default_rng(seed).normal(scale=30, size=(5, 5)))
    D = pair_diffusivity(raw)
    assert np.all(D > 0)
    assert np.array_equal(D, D.T)
    assert not np.array_equal(raw, raw.T)

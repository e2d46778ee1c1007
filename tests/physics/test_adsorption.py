"""Laws of competitive adsorption: the simplex at any stiffness, the exponential, Langmuir, and an honest sink."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import GEOMETRY, float32, has_nan, law_error, normwise, relative, seeds
from unmixnet.physics import adsorption
from unmixnet.physics.adsorption import Surface, adsorb, coverage, coverage_expm, generator, stationary_coverage
from unmixnet.physics.closure import simplex_error

K, M = 5, 4
stiffness = st.floats(-6, 6).map(lambda power: 10.0**power)
cover, cover_dense = jax.jit(coverage), jax.jit(coverage_expm)


def rates(seed: int, stiff: float, spread: float = 4.0):
    """Coverage, λ, δ of one sensor whose largest rate is `stiff` per second."""
    rng = np.random.default_rng(seed)
    lam, delta = stiff * 10.0 ** rng.uniform(-spread, 0, (2, K))
    return jnp.asarray(rng.dirichlet(np.ones(K + 1))), jnp.asarray(lam), jnp.asarray(delta)


def on_simplex(theta) -> float:
    return float(simplex_error(theta[:, None]))


@given(seed=seeds, stiff=stiffness)
def test_one_step_is_the_matrix_exponential(seed, stiff):
    theta, lam, delta = rates(seed, stiff)
    expected = scipy.linalg.expm(np.asarray(generator(lam, delta), np.longdouble).astype(float)) @ np.asarray(theta)
    found = cover(theta, lam, delta, jnp.ones(()))
    # scipy's own error grows with the stiffness
    assert np.max(np.abs(found - expected)) <= 1e-13 * max(1, stiff)
    assert on_simplex(found) <= 1e-12


@given(seed=seeds, stiff=st.floats(0.1, 10))
def test_the_reference_is_the_matrix_exponential(seed, stiff):
    theta, lam, delta = rates(seed, stiff)
    expected = scipy.linalg.expm(np.asarray(generator(lam, delta))) @ np.asarray(theta)
    assert np.max(np.abs(cover_dense(theta, lam, delta, jnp.ones(())) - expected)) <= 1e-13
    wrong_sign = scipy.linalg.expm(-np.asarray(generator(lam, delta))) @ np.asarray(theta)
    assert np.max(np.abs(cover(theta, lam, delta, jnp.ones(())) - wrong_sign)) > 1e-3


@given(seed=seeds)
def test_columns_of_the_generator_sum_to_zero(seed):
    _, lam, delta = rates(seed, 1.0)
    Q = np.asarray(generator(lam, delta))
    assert np.max(np.abs(Q.sum(axis=0))) <= 1e-15
    assert np.all(Q - np.diag(np.diag(Q)) >= 0) and np.any(Q > 0)


@given(a=stiffness, d=stiffness, t=st.floats(1e-3, 10))
def test_two_states_relax_by_their_closed_form(a, d, t):
    theta = cover_two(jnp.asarray([1.0, 0.0]), jnp.asarray([a]), jnp.asarray([d]), jnp.asarray(t))
    assert theta[1] == pytest.approx(-a / (a + d) * np.expm1(-(a + d) * t), rel=1e-12, abs=1e-14)


cover_two = jax.jit(coverage)


@jax.jit
def ten_thousand(theta, lam, delta):
    def advance(theta, k):
        return coverage(theta, lam * (1 + 0.5 * jnp.sin(0.01 * k)), delta, jnp.ones(())), None

    return jax.lax.scan(advance, theta, jnp.arange(10_000.0))[0]


@pytest.mark.parametrize("stiff", [1e-3, 1.0, 1e3, 1e6])
def test_coverage_stays_on_the_simplex_for_ten_thousand_steps(stiff):
    theta, lam, delta = rates(4, stiff)
    after = ten_thousand(theta, lam, delta)
    assert on_simplex(after) <= 1e-12
    assert np.max(np.abs(after - theta)) > 1e-2


@given(seed=seeds, stiff=stiffness)
def test_long_steps_end_at_the_extended_langmuir_isotherm(seed, stiff):
    theta, lam, delta = rates(seed, stiff, spread=2)
    langmuir = stationary_coverage(lam, delta)
    ratio = np.asarray(lam / delta)
    assert relative(langmuir[1:], ratio / (1 + ratio.sum())) <= 1e-13
    assert np.max(np.abs(np.asarray(generator(lam, delta)) @ np.asarray(langmuir))) <= 1e-13 * stiff
    assert normwise(cover(theta, lam, delta, jnp.asarray(1e6 / stiff)), langmuir) <= 1e-12
    assert normwise(cover(langmuir, lam, delta, jnp.asarray(1 / stiff)), langmuir) <= 1e-13


def test_twin_a_dropped_decade_in_one_rate_moves_the_isotherm():
    theta, lam, delta = rates(0, 1.0, spread=2)
    wrong = cover(theta, lam.at[2].multiply(0.1), delta, jnp.asarray(1e6))
    assert normwise(wrong, stationary_coverage(lam, delta)) > 1e-2


def test_traces_keep_their_relative_accuracy():
    theta = jnp.zeros(K + 1).at[0].set(1)
    lam, delta = jnp.asarray([1.0, 1e-3, 1e-6, 1e-9, 1e-12]), jnp.ones(K)
    expected = scipy.linalg.expm(np.asarray(generator(lam, delta)))[:, 0]
    assert relative(cover(theta, lam, delta, jnp.ones(())), expected) <= 1e-12
    assert relative(cover(*float32((theta, lam, delta, jnp.ones(())))), expected) <= 1e-5


@pytest.mark.parametrize(("pairs", "bound"), [("_FOUR_PAIRS", 2.1e-8), ("_EIGHT_PAIRS", 8e-16)])
def test_the_rational_exponential_keeps_its_stated_error(pairs, bound):
    poles = getattr(adsorption, pairs)
    with mpmath.workdps(40):
        error = 0
        for x in [0, *np.logspace(-6, 6, 400)]:
            x = -mpmath.mpf(float(x))
            value = sum(mpmath.mpc(w) / (mpmath.mpc(z) - x) for z, w in poles)
            error = max(error, abs(-2 * value.real - mpmath.exp(x)))
    assert error <= bound
    assert error > 0.01 * bound


def cell(seed: int, sites: float):
    rng = np.random.default_rng(seed)
    N = jnp.asarray(np.concatenate([np.full((1, 8), 1e-3), rng.uniform(0, 1e-6, (8, K)).T]))
    surface = Surface(*jnp.asarray(10.0 ** rng.uniform(-1, 4, (2, M, K)).swapaxes(1, 2)), jnp.full(M, sites))
    return N, jnp.asarray(rng.dirichlet(np.ones(K + 1), M).T), surface


sink = eqx.filter_jit(lambda N, theta, surface, dt: adsorb(N, theta, surface, GEOMETRY, dt))


@given(seed=seeds, sites=st.floats(-12, 0).map(lambda power: 10.0**power), dt=stiffness)
def test_the_sink_conserves_moles_and_never_empties_below_zero(seed, sites, dt):
    N, theta, surface = cell(seed, sites)
    after, theta_after, taken = sink(N, theta, surface, jnp.asarray(dt))
    held = lambda N, theta: jnp.sum(N, axis=1) + jnp.sum(surface.sites * theta.at[0].set(0), axis=1)  # noqa: E731
    assert np.all(after >= 0) and np.all(theta_after >= -1e-15)
    assert float(simplex_error(theta_after)) <= 1e-12
    assert relative(held(after, theta_after), held(N, theta)) <= 1e-12
    assert np.array_equal(after[0], N[0]) and np.any(taken != 0)


def test_a_hungry_surface_takes_all_and_leaves_its_other_sites_empty():
    N, _, surface = cell(1, sites=1.0)
    surface = eqx.tree_at(lambda s: s.k_des, surface, jnp.full((K, M), 1e-9))
    empty = jnp.zeros((K + 1, M)).at[0].set(1)
    after, theta, taken = sink(N, empty, surface, jnp.asarray(1e6))
    breathing = np.unique(GEOMETRY.sensor_cell)
    assert np.all(after[1:, breathing] <= 1e-12 * N[1:, breathing])
    assert np.all(theta[0] > 0.99)
    assert relative(taken[1:, breathing], N[1:, breathing]) <= 1e-12


def test_twin_the_sink_as_printed_makes_the_gas_negative():
    N, _, surface = cell(1, sites=1.0)
    empty = jnp.zeros((K + 1, M)).at[0].set(1)
    c = N[1:, GEOMETRY.sensor_cell] / GEOMETRY.volume[GEOMETRY.sensor_cell]
    wanted = coverage(empty, surface.k_ads * c, surface.k_des, jnp.asarray(1e6))
    assert np.min(N[1:] - GEOMETRY.on_cells(surface.sites * (wanted - empty)[1:])) < 0


@pytest.mark.parametrize("stiff", [1.0, 1e3])
def test_derivatives_of_the_coverage_are_difference_quotients(stiff):
    assert law_error(lambda args: coverage(*args), (*rates(7, stiff, spread=2), jnp.asarray(1.0))) <= 1e-6


def test_twin_frozen_rates_have_the_wrong_derivative():
    frozen = lambda args: coverage(args[0], jax.lax.stop_gradient(args[1]), args[2], args[3])  # noqa: E731
    assert law_error(frozen, (*rates(7, 1.0, spread=2), jnp.asarray(1.0))) > 1e-3


@pytest.mark.parametrize("sites", [1e-9, 1.0], ids=["plenty", "short"])
def test_derivatives_of_the_sink_are_difference_quotients(sites):
    law = lambda args: adsorb(*args[:3], GEOMETRY, args[3])[:2]  # noqa: E731
    assert law_error(law, (*cell(2, sites), jnp.asarray(0.01))) <= 1e-6


def test_in_clean_air_the_gas_that_is_left_has_its_whole_derivative():
    N, _, surface = cell(1, sites=1e-9)
    clean = jnp.zeros((K + 1, M)).at[0].set(1)
    N = N.at[1:].set(0)
    slope = jax.jacfwd(lambda n: sink(N.at[1, 0].set(n), clean, surface, jnp.ones(()))[0][1, 0])(0.0)
    # cell 0 has no sensor: what is there stays there
    assert slope == 1


def test_in_clean_air_the_first_uptake_is_linear_in_the_rate():
    _, _, delta = rates(1, 1.0)
    clean = jnp.zeros(K + 1).at[0].set(1)
    slope = jax.jacrev(coverage, argnums=1)(clean, jnp.zeros(K), delta, jnp.ones(()))
    assert not has_nan(slope)
    assert relative(np.diag(slope[1:]), -np.expm1(-delta) / delta) <= 1e-12


def slopes_of_the_sink(sites: float, trace: float):
    """∂(N, θ)/∂n of the first odorant in the first sensor's cell and on it, in clean air with `trace` moles of it."""
    N, _, surface = cell(1, sites)
    clean, place = jnp.zeros((K + 1, M)).at[0].set(1), GEOMETRY.sensor_cell[0]
    N = N.at[1:].set(0)
    law = lambda n: adsorb(N.at[1, place].set(n), clean, surface, GEOMETRY, jnp.ones(()))  # noqa: E731
    after, theta, _ = jax.jacrev(law)(jnp.asarray(trace))
    return after[1, place], theta[1, 0]


@pytest.mark.parametrize("sites", [1e-10, 1e-3], ids=["plenty", "hungry"])
def test_the_slope_at_nothing_is_that_beside_nothing(sites):
    gas, covered = slopes_of_the_sink(sites, 0.0)
    gas_beside, covered_beside = slopes_of_the_sink(sites, 1e-18)
    assert 0 <= gas <= 1 and abs(gas - gas_beside) <= 1e-9
    assert relative(covered, covered_beside) <= 1e-9 and covered > 0


def test_twin_without_the_limit_the_slope_at_nothing_grows_with_every_step(monkeypatch):
    whole = lambda surface, slope, geometry: jnp.ones((K, 8))  # noqa: E731
    monkeypatch.setattr(adsorption, "_share_of_a_trace", whole)
    assert abs(slopes_of_the_sink(1e-3, 0.0)[0]) > 10

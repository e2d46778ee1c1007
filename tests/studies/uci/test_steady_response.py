"""Competitive adsorption and readout in the steady state."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.uci.plateau_inverse import FORMS
from studies.uci.steady_response import COLUMNS, columns, response
from unmixnet.physics.adsorption import stationary_coverage

P = np.array([[7.0, 0.8, 1.2, -0.5, -1.0, -0.3, 0.1, -0.2], [6.0, -1.0, 0.5, -2.0, -0.3, 0.0, 0.0, 0.0]])
X = np.array([[0.0, 0.0], [1.3, 0.0], [0.0, 0.7], [2.0, 1.5]])


def test_the_langmuir_form_is_the_stationary_coverage_of_the_solver():
    S, K = np.exp(P[1, 1:3] - P[1, 3:5]), np.exp(P[1, 3:5])
    for x, y in zip(X, response(P[1:], X)[0][:, 0], strict=True):
        theta = np.asarray(stationary_coverage(jnp.asarray(K * x), jnp.ones(2)))[1:]
        assert y == pytest.approx(P[1, 0] + np.log1p(S @ theta), abs=1e-8)


@pytest.mark.parametrize("j", range(len(COLUMNS)))
def test_derivatives_by_the_parameters_are_those_of_differences(j):
    h = 1e-6
    up, down = (response(P + s * h * np.eye(len(COLUMNS))[j], X)[0] for s in (1, -1))
    np.testing.assert_allclose(response(P, X)[1][..., j], (up - down) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("g", range(2))
def test_derivatives_by_the_concentrations_are_those_of_differences(g):
    x, h = X[3:], 1e-6
    up, down = (response(P, x + s * h * np.eye(2)[g])[0] for s in (1, -1))
    np.testing.assert_allclose(response(P, x)[2][..., g], (up - down) / (2 * h), atol=1e-6)


@given(st.floats(0, 5), st.floats(0, 5), st.floats(0.01, 1))
def test_more_of_the_better_adsorbed_gas_never_lowers_the_signal_of_a_clifford_sensor(a, b, more):
    clifford = P.copy()
    clifford[:, 3:5] = -np.inf
    here, there = response(clifford, np.array([[a, b], [a + more, b]]))[0]
    assert np.all(there >= here)


def test_clean_air_gives_the_baseline():
    np.testing.assert_allclose(response(P, np.zeros((1, 2)))[0][0], P[:, 0], atol=1e-6)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_sensors_of_one_type_share_what_the_form_says(form):
    place, start, names = columns(form, 16)
    assert len(start) == len(names) == place.max() + 1
    for j, column in enumerate(COLUMNS):
        if column in form.per_type:
            assert place[0, j] == place[1, j] == place[8, j] != place[2, j]
        elif column in form.fitted:
            assert len(set(place[:, j])) == 16
        else:
            assert np.all(place[:, j] == -1)


def test_twin_without_competition_two_gases_add_up():
    """The twin of competition: without saturation the joint signal is the sum, with it less."""
    free, bound = P[1:].copy(), P[1:].copy()
    free[:, 3:5] = -np.inf
    bound[:, 3:5] = 0.5
    for law, adds in ((free, True), (bound, False)):
        G = np.expm1(response(law, X)[0][:, 0] - law[0, 0])
        both = np.expm1(response(law, np.array([[1.3, 0.7]]))[0][0, 0] - law[0, 0])
        assert (abs(both - G[1] - G[2]) < 1e-6) == adds

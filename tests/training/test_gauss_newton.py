"""Gauss–Newton: exact on linear problems, never uphill, and no step into what is not a number."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import seeds
from unmixnet.training.gauss_newton import gauss_newton


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, 4)), rng.normal(size=12)


@given(seed=seeds)
def test_a_linear_problem_is_solved_as_least_squares_says(seed):
    A, b = problem(seed)
    found = gauss_newton(lambda p: A @ p - b, jnp.zeros(4), iterations=6, damping=1e-6)
    np.testing.assert_allclose(found, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-5)


def rosenbrock(p):
    return {"bend": 10 * (p[1] - p[0] ** 2), "pull": 1 - p[0]}


def test_the_bottom_of_a_bent_valley_is_found_and_the_sum_never_rises():
    told: list[float] = []
    found = gauss_newton(
        rosenbrock, jnp.array([-1.2, 1.0]), iterations=60, watch=lambda iteration, total: told.append(total)
    )
    np.testing.assert_allclose(found, [1, 1], atol=1e-4)
    assert np.all(np.diff(told) <= 0)


def test_a_step_into_what_is_not_a_number_is_not_taken():
    start = jnp.array([0.1])
    found = gauss_newton(lambda p: jnp.sqrt(p) + 3.0, start, iterations=12)
    assert 0 <= float(found[0]) <= 0.1


def test_twin_without_a_look_at_the_outcome_the_first_step_is_not_a_number():
    slope = 0.5 / np.sqrt(0.1)
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.sqrt(0.1 - (np.sqrt(0.1) + 3) / slope))


@pytest.mark.parametrize("iterations", [0, 1])
def test_no_iteration_changes_nothing_and_one_changes_something(iterations):
    found = gauss_newton(lambda p: p - 1.0, jnp.zeros(2), iterations=iterations)
    assert np.array_equal(found, np.zeros(2)) == (iterations == 0)

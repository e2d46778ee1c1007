"""Ridge projections find the map that is there, and nothing of a test recording enters."""

from dataclasses import replace

import numpy as np
import pytest

from studies.states.networks import fit_projection, fit_states
from studies.states.physical import PhysicalStates

rng = np.random.default_rng(0)
CELLS = np.array([1, 2])


def _rows(n: int, P: np.ndarray, b: np.ndarray, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    hidden = rng.normal(3.0, 2.0, (n, len(P)))
    return hidden, hidden @ P + b + noise * rng.normal(size=(n, P.shape[1]))


@pytest.fixture(scope="module")
def planted():
    return rng.normal(size=(6, 4)), np.array([10.0, -20.0, 30.0, 0.0])


def test_a_planted_linear_map_is_found(planted):
    found = fit_projection(_rows(400, *planted), _rows(100, *planted))
    hidden, states = _rows(50, *planted)
    np.testing.assert_allclose(found(hidden), states, atol=1e-3)


def test_without_an_intercept_the_level_is_missed(planted):
    found = fit_projection(_rows(400, *planted), _rows(100, *planted), intercept=False)
    hidden, states = _rows(50, *planted)
    assert np.abs(found(hidden) - states).max() > 1


def test_validation_shrinks_a_map_that_is_not_there():
    nothing = np.zeros((40, 3)), np.zeros(3)
    found = fit_projection(_rows(60, *nothing, noise=1.0), _rows(500, *nothing, noise=1.0))
    free = fit_projection(*(2 * [_rows(60, *nothing, noise=1.0)]))
    assert found.penalty > free.penalty
    assert np.linalg.norm(found.P) < 0.5 * np.linalg.norm(free.P)


def test_a_test_recording_that_leaks_into_training_looks_better_than_it_is():
    nothing = np.zeros((40, 3)), np.zeros(3)
    train, held, test = (_rows(n, *nothing, noise=1.0) for n in (60, 60, 60))
    honest = fit_projection(train, held)
    both = tuple(np.concatenate([a, b]) for a, b in zip(train, test, strict=True))
    leaked = fit_projection(both, test)
    error = [np.mean((one(test[0]) - test[1]) ** 2) for one in (honest, leaked)]
    assert error[0] > 0.7
    assert error[1] < 0.8 * error[0]


def test_a_unit_that_never_moves_does_no_harm(planted):
    hidden, states = _rows(200, *planted)
    dead = lambda H: np.concatenate([H, np.full((len(H), 1), 7.0)], axis=1)  # noqa: E731
    found = fit_projection((dead(hidden), states), (dead(hidden), states))
    np.testing.assert_allclose(found(dead(hidden)), states, atol=1e-3)
    moved = np.concatenate([hidden, np.full((len(hidden), 1), 8.0)], axis=1)
    assert np.isfinite(found(moved)).all()


def _states(hidden: np.ndarray) -> PhysicalStates:
    """Four quantities, each a linear map of the hidden states with its own shape."""
    n, T, width = hidden.shape
    draw = np.random.default_rng(1)

    def made(*shape: int) -> np.ndarray:
        P = draw.normal(size=(width, int(np.prod(shape))))
        return (hidden @ P + 1).reshape(n, T, *shape)

    return PhysicalStates(made(3, 2), made(4, 2), made(2, 2), made(2), CELLS)


def test_all_four_quantities_are_projected_in_their_own_shape():
    hidden = rng.normal(size=(12, 5, 6))
    states = _states(hidden)
    found = fit_states(hidden[:8], states.chosen(slice(0, 8)), hidden[8:10], states.chosen(slice(8, 10)))(hidden[10:])
    truth = states.chosen(slice(10, 12))
    for name in ("concentration", "flux", "coverage", "mass"):
        np.testing.assert_allclose(getattr(found, name), getattr(truth, name), atol=1e-2)
    assert found.at_sensors.shape == (2, 5, 2, 2)


def test_states_of_test_recordings_change_no_projection():
    """Nothing of a test recording is an argument: other states there, the same projection."""
    hidden = rng.normal(size=(12, 5, 6))
    states = _states(hidden)
    other = replace(states, mass=np.concatenate([states.mass[:10], 0 * states.mass[10:]]))
    made = [
        fit_states(hidden[:8], s.chosen(slice(0, 8)), hidden[8:10], s.chosen(slice(8, 10))) for s in (states, other)
    ]
    np.testing.assert_array_equal(made[0](hidden).mass, made[1](hidden).mass)

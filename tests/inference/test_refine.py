"""Refinement moves towards the truth and never makes the objective worse."""

import equinox as eqx
import jax
import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.inference.refine import refine
from unmixnet.model.predict import encode, reconstruct

NOISE = (0.05, 0.05, 0.05)


@pytest.fixture(scope="module")
def windows() -> np.ndarray:
    return tiny.prepared()[0].train.traces[:6, 5:15]


@pytest.fixture(scope="module")
def inference(bundle, windows):
    return encode(bundle.model, windows)


def test_zero_steps_change_nothing(bundle, windows, inference):
    done = refine(bundle.model, windows, inference, steps=0, noise=NOISE)
    for one, two in zip(jax.tree.leaves(done.inference), jax.tree.leaves(inference), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(done.before, done.after)


@pytest.mark.parametrize("rate", [0.05, 5.0])
def test_the_objective_never_rises_whatever_the_rate(bundle, windows, inference, rate):
    done = refine(bundle.model, windows, inference, steps=8, noise=NOISE, rate=rate)
    assert np.all(done.after <= done.before) and np.all(np.isfinite(done.after))
    np.testing.assert_allclose(np.sum(done.inference.a, axis=1), 1, atol=1e-5)


def test_more_steps_are_never_worse(bundle, windows, inference):
    few, many = (refine(bundle.model, windows, inference, steps=n, noise=NOISE).after for n in (3, 30))
    assert np.all(many <= few) and np.any(many < few)


def test_a_strong_pull_keeps_the_answer(bundle, windows, inference):
    done = refine(bundle.model, windows, inference, steps=20, noise=NOISE, pull=1e6)
    np.testing.assert_allclose(done.inference.a, inference.a, atol=1e-3)


def own_traces(bundle, windows, inference):
    """Traces that the model's own solver makes, as windows of its rate; the truth is what they were made from."""
    y = reconstruct(bundle.model, inference, windows)
    return np.concatenate([windows[:, :1], y], axis=1).astype(np.float32)


def error(bundle, windows, inference, shown) -> np.ndarray:
    y = reconstruct(bundle.model, inference, windows)
    return np.sqrt(np.mean((y - shown[:, 1:]) ** 2, axis=(1, 2)))


def test_on_traces_of_its_own_solver_it_moves_towards_the_truth(bundle, windows, inference):
    shown = own_traces(bundle, windows, inference)
    bent = eqx.tree_at(lambda i: i.log_strength, inference, inference.log_strength + 0.7)
    done = refine(bundle.model, shown, bent, steps=60, noise=NOISE, pull=1e-3)
    before = np.abs(bent.log_strength - inference.log_strength)
    assert np.all(np.abs(done.inference.log_strength - inference.log_strength) < 0.6 * before)
    assert np.all(error(bundle, shown, done.inference, shown) < 0.3 * error(bundle, shown, bent, shown))


def test_twin_without_a_step_the_bent_start_stays_bent(bundle, windows, inference):
    shown = own_traces(bundle, windows, inference)
    bent = eqx.tree_at(lambda i: i.log_strength, inference, inference.log_strength + 0.7)
    done = refine(bundle.model, shown, bent, steps=0, noise=NOISE)
    assert np.all(error(bundle, shown, done.inference, shown) > 0.01)

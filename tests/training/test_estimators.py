"""The estimators are scikit-learn estimators, and what they say are shares."""

import jax
import numpy as np
import pytest
from sklearn.base import clone

from unmixnet import OdorClassifier, UnmixRegressor

QUICK = {"closure": False, "epochs": 1}


@pytest.fixture(autouse=True, scope="module")
def _compile_quickly():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def made(n: int = 24, T: int = 12, M: int = 2, K: int = 3):
    rng = np.random.default_rng(0)
    y = rng.dirichlet(np.ones(K), n)
    prints = rng.uniform(0.5, 2, (K, M))
    rise = 1 - np.exp(-np.arange(T) / 4)
    return (y @ prints)[:, None] * rise[None, :, None] + rng.normal(0, 0.01, (n, T, M)), y


@pytest.fixture(scope="module")
def fitted():
    X, y = made()
    return UnmixRegressor(**QUICK).fit(X, y), X, y


def test_shares_are_shares(fitted):
    model, X, y = fitted
    shares = model.predict(X)
    assert shares.shape == y.shape
    assert np.all(shares >= 0)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)


def test_flat_traces_are_the_same_traces(fitted):
    model, X, y = fitted
    flat = UnmixRegressor(sensors=2, **QUICK).fit(X.reshape(len(X), -1), y)
    np.testing.assert_allclose(flat.predict(X.reshape(len(X), -1)), model.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    "spoil", [lambda y: y * 2, lambda y: -y, lambda y: y[:, 0]], ids=["sum is two", "negative", "one column"]
)
def test_targets_that_are_no_shares_are_refused(spoil):
    X, y = made()
    with pytest.raises(ValueError, match="shares"):
        UnmixRegressor(**QUICK).fit(X, spoil(y))


def test_a_classifier_answers_with_the_names_it_was_given():
    X, y = made()
    names = np.array(["clove", "almond", "pear"])[y.argmax(axis=1)]
    model = OdorClassifier(**QUICK).fit(X, names)
    assert set(model.predict(X)) <= set(names)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    assert list(model.classes_) == sorted(set(names))


def test_a_clone_is_not_fitted():
    assert not hasattr(clone(UnmixRegressor(**QUICK)), "model_")

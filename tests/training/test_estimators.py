"""The estimators are scikit-learn estimators, and what they say are shares."""

import jax
import numpy as np
import pytest
from sklearn.base import clone

from unmixnet import OdorClassifier, UnmixError, UnmixRegressor
from unmixnet.training import estimators

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


@pytest.fixture(scope="module")
def both(fitted):
    _, X, y = fitted
    return fitted[0], OdorClassifier(model="adr-gnn", **QUICK).fit(X, y.argmax(axis=1))


@pytest.mark.parametrize("which", [0, 1], ids=["regressor", "classifier"])
@pytest.mark.parametrize("sensors", [1, 3])
def test_another_number_of_sensors_is_refused(both, fitted, which, sensors):
    X = np.resize(fitted[1], (*fitted[1].shape[:2], sensors))
    with pytest.raises(UnmixError, match=f"X has {sensors} sensors, but .* is expecting 2 sensors as input"):
        both[which].predict(X)


@pytest.mark.parametrize("which", [0, 1], ids=["regressor", "classifier"])
def test_twin_without_the_checks_one_sensor_is_answered(both, fitted, which, monkeypatch):
    """Standardising by the statistics of two sensors makes two of one."""
    model, X = both[which], fitted[1][:, :, :1]
    monkeypatch.setattr(estimators, "len", lambda seen: 1, raising=False)
    assert model.predict(X).shape[0] == len(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sensors": 0}, "sensors is 0"),
        ({"rate_Hz": 0.0}, "rate_Hz is 0.0"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": "lucky"}, "random_state is 'lucky'"),
        ({"start": "elsewhere"}, "'clean air'"),
        ({"model": "perceptron"}, "'mlp'"),
        ({"size": "huge"}, "'paper'"),
        ({"epochs": 0}, "greater than 0"),
        ({"rate": -1.0}, "greater than 0"),
    ],
)
@pytest.mark.parametrize("kind", [UnmixRegressor, OdorClassifier])
def test_settings_that_make_no_sense_are_refused_by_name(kind, settings, message):
    X, y = made(n=6)
    targets = y if kind is UnmixRegressor else y.argmax(axis=1)
    with pytest.raises(UnmixError, match=message) as refused:
        kind(**{**QUICK, **settings}).fit(X, targets)
    assert kind.__name__ in str(refused.value)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y: (X[:-1], y, None),
        lambda X, y: (X * np.nan, y, None),
        lambda X, y: (X.reshape(len(X), 3, 4, -1), y, None),
        lambda X, y: (X, y, [1, 2]),
        lambda X, y: (X[:0], y[:0], None),
    ],
    ids=["fewer traces", "no numbers", "four axes", "two groups", "nothing"],
)
@pytest.mark.parametrize("kind", [UnmixRegressor, OdorClassifier])
def test_arrays_that_do_not_fit_are_refused_with_our_error(kind, spoil):
    X, y = made(n=6)
    X, y, groups = spoil(X, y)
    targets = y if kind is UnmixRegressor else y.argmax(axis=1)
    with pytest.raises(UnmixError) as refused:
        kind(**QUICK).fit(X, targets, groups)
    assert isinstance(refused.value, ValueError), "as scikit-learn expects"

"""One compiled model over windows: every window is answered alone, and only windows of the model's own channels."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.model import predict
from unmixnet.model.baselines import BASELINES
from unmixnet.model.baselines.direct_inverse import invert_all
from unmixnet.model.predict import encode, predict_ratios, respond, window_ratios

from . import tiny

T, M, K = 16, 4, 3


def baseline(name: str):
    return BASELINES[name].of(T, M, K, size="small", key=jax.random.key(0))


@pytest.fixture(scope="module")
def windows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(3, T, M))


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_knows_its_number_of_sensors(name):
    assert baseline(name).sensor_count == M


@pytest.mark.parametrize("channels", [1, M - 1, M + 1])
@pytest.mark.parametrize("name", BASELINES)
def test_windows_of_another_number_of_channels_are_refused(name, channels, windows):
    spoilt = np.resize(windows, (3, T, channels))
    for predictor in (window_ratios, respond):
        with pytest.raises(ConfigError, match=f"{M} channels"):
            predictor(baseline(name), spoilt)
    with pytest.raises(ConfigError, match=f"{M} channels"):
        predict_ratios(baseline(name), jnp.asarray(spoilt[0]))


def test_twin_without_the_check_one_channel_would_be_answered(monkeypatch, windows):
    """The sensors of this baseline are nodes: one channel broadcasts over all of them, unless shapes are checked."""
    monkeypatch.setattr(predict, "check_channels", lambda model, Y: None)
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        assert window_ratios(baseline("adr-gnn"), windows[:, :, :1]).shape == (3, K)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("channels", [1, 3])
def test_unmixnet_takes_its_own_channels_only(channels):
    model = tiny.model()
    assert channels != model.sensor_count
    spoilt = np.zeros((2, T, channels))
    for predictor in (window_ratios, encode, invert_all):
        with pytest.raises(ConfigError, match=f"{model.sensor_count} channels"):
            predictor(model, spoilt)


def test_an_answer_does_not_depend_on_the_other_windows(windows):
    model = baseline("mlp")
    many = np.concatenate([windows] * 30)
    answers = window_ratios(model, many)
    np.testing.assert_array_equal(answers[:3], answers[-3:])
    np.testing.assert_array_equal(window_ratios(model, windows[1:2])[0], answers[1])

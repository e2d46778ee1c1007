"""Responses forget what they should forget, and refuse what has no meaning."""

import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import Response, early_level, log_conductance, respond
from unmixnet.recordings.response import ResponseScale

RNG = np.random.default_rng(0)
Y = RNG.uniform(100, 900, size=(50, 3))
B = Y[:5].mean(axis=0)


def test_relative_and_log_ratio_forget_the_gain():
    for response in (Response.RELATIVE, Response.LOG_RATIO):
        assert respond(7 * Y, 7 * B, response) == pytest.approx(respond(Y, B, response), abs=1e-9)
    assert respond(7 * Y, 7 * B, Response.LEVEL) != pytest.approx(respond(Y, B, Response.LEVEL))


def test_level_forgets_the_offset():
    assert respond(Y + 40, B + 40, Response.LEVEL) == pytest.approx(respond(Y, B, Response.LEVEL))


def test_log_conductance_forgets_the_load_resistor():
    """Counts of a divider for conductance G and load R: 1023 G R / (1 + G R); a factor in R is an offset."""
    G = RNG.uniform(0.1, 10, size=(50, 3))
    counts = [1023 * G * R / (1 + G * R) for R in (1.0, 3.0)]
    assert log_conductance(counts[1]) - log_conductance(counts[0]) == pytest.approx(np.full(G.shape, np.log(3)))
    first, second = (respond(c, c[0], Response.LOG_CONDUCTANCE) for c in counts)
    assert first == pytest.approx(second)
    assert respond(counts[0], counts[0][0], Response.LOG_CONDUCTANCE) == pytest.approx(np.log(G / G[0]))


def test_counts_at_the_rails_stay_finite():
    assert np.all(np.isfinite(log_conductance(np.array([0.0, 1023.0, 2000.0]))))


def test_relative_without_a_baseline_is_refused():
    with pytest.raises(ConfigError, match="baseline"):
        respond(Y, None, Response.RELATIVE)
    with pytest.raises(ConfigError, match="positive"):
        respond(Y - 500, B, Response.LOG_RATIO)


def test_the_early_level_is_the_mean_of_the_first_seconds():
    time_s = np.arange(50) / 10
    assert early_level(time_s, Y, 0.5) == pytest.approx(Y[:5].mean(axis=0))
    assert early_level(time_s, Y, 0.0) == pytest.approx(Y[0])


@pytest.mark.parametrize("response", [r for r in Response if r is not Response.LEVEL])
def test_the_scale_is_that_of_the_preprocessing(response):
    rng = np.random.default_rng(0)
    y, b = rng.uniform(20, 900, (30, 3)), rng.uniform(20, 900, 3)
    scale = ResponseScale(response)
    made = scale.respond(scale.of(y), b)
    np.testing.assert_allclose(made, respond(y, b, response), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scale.readings(scale.unrespond(made, b)), y, rtol=1e-9)

"""References that the bundle's own physics made: known gains come back, errors fall, wrong labels are no help."""

from dataclasses import replace

import numpy as np
import pytest

from tests.live.signals import recording, shipped
from unmixnet.errors import ConfigError
from unmixnet.inference.session import fit_session
from unmixnet.inference.session.fit import fit_map
from unmixnet.inference.session.references import STRENGTHS, expected_traces, references_of
from unmixnet.inference.unmix import unmix
from unmixnet.recordings.recording import Mixture, Recording

BUNDLE = shipped()
GAIN = np.array([1.35, 0.75, 1.2, 0.7])
FOODS = ("strawberry", "clove", "garlic", "banana", "orange", "almond")


@pytest.fixture(scope="module")
def traces() -> np.ndarray:
    """What the physics makes of pure foods at strength one, (food, row, sensor), at the model's rate."""
    truth = np.array([[float(name == food) for name in BUNDLE.components] for food in FOODS])
    windows = np.zeros((len(FOODS), BUNDLE.spec.window, 4), np.float32)
    made = expected_traces(BUNDLE, truth, windows)[:, STRENGTHS.index(0.0)]
    air = np.broadcast_to(np.array(BUNDLE.spec.air), (len(FOODS), 1, 4))
    steps, rows = np.arange(made.shape[1] + 1), np.arange(BUNDLE.spec.window) / BUNDLE.spec.settings.stride
    whole = np.concatenate([air, made], axis=1)
    return np.stack([[np.interp(rows, steps, whole[k, :, m]) for m in range(4)] for k in range(len(FOODS))]).swapaxes(
        1, 2
    )


def reference(trace: np.ndarray, food: str, gain: np.ndarray) -> Recording:
    """Readings of a session with these gains."""
    air = np.array(BUNDLE.spec.air)
    signal = air + gain * (trace - air)
    level = signal * np.array(BUNDLE.preprocessing.sd) + np.array(BUNDLE.preprocessing.mean) - 1.4
    label = Mixture((food,), (1.0,))
    return replace(recording(BUNDLE, 1023 / (1 + np.exp(-level)), BUNDLE.spec.rate_Hz), label=label, path=food)


@pytest.fixture(scope="module")
def session(traces) -> list[Recording]:
    return [reference(trace, food, GAIN) for trace, food in zip(traces, FOODS, strict=True)]


@pytest.fixture(scope="module")
def known(session):
    return references_of(BUNDLE, session)


NO_AIR = np.zeros((0, 4))


def missed(found) -> float:
    return float(np.max(np.abs(np.log(np.array(found.gain) * GAIN))))


@pytest.mark.parametrize(("method", "within"), [("solver", 0.05), ("gain", 0.2)])
def test_perfect_references_recover_the_gains(known, method, within):
    assert (
        missed(fit_map(BUNDLE, known[:3], NO_AIR, method)) < within < missed(fit_map(BUNDLE, known[:3], NO_AIR, "none"))
    )


def test_the_gain_is_found_although_the_strength_is_not_known(traces):
    strong = [reference(trace, food, GAIN) for trace, food in zip(1.0 * traces, FOODS, strict=True)]
    assert missed(fit_map(BUNDLE, references_of(BUNDLE, strong), NO_AIR, "solver")) < 0.05


def test_wrong_labels_do_not_help(known):
    wrong = [
        replace(one, truth=other.truth, expected=other.expected, master=other.master)
        for one, other in zip(known[:3], [known[1], known[2], known[0]], strict=True)
    ]
    right = missed(fit_map(BUNDLE, known[:3], NO_AIR, "solver"))
    assert missed(fit_map(BUNDLE, wrong, NO_AIR, "solver")) > 3 * right
    same = [replace(one, level=one.master, seen=one.expected[STRENGTHS.index(0.0)]) for one in wrong]
    assert missed(fit_map(BUNDLE, same, NO_AIR, "solver")) > 0.2  # nothing in these references knows of the session


def test_a_calibration_says_how_far_the_error_fell_on_references_that_it_left_out(session):
    found = fit_session(BUNDLE, session[:3])
    assert found.left_out and found.after < 0.95 * found.before and found.method != "none"
    assert found.references[0] == "strawberry (strawberry 100 %)" and found.device == "simulated"
    before, after = (unmix(BUNDLE, session[4], session=one) for one in (None, found))
    truth = session[4].label.vector(BUNDLE.components)
    assert np.sum(np.abs(after.ratios - truth)) <= np.sum(np.abs(before.ratios - truth)) + 1e-6
    assert any("session calibration" in finding for finding in after.findings)
    same = unmix(BUNDLE, session[4], session=found.undone())
    np.testing.assert_allclose(same.ratios, before.ratios, atol=1e-6)


def test_a_session_like_training_is_left_alone(traces):
    plain = [reference(trace, food, np.ones(4)) for trace, food in zip(traces[:3], FOODS, strict=False)]
    found = fit_session(BUNDLE, plain)
    assert found.method == "none" or found.after <= found.before


def test_references_that_say_nothing_are_refused(session):
    with pytest.raises(ConfigError, match="nothing to calibrate on"):
        fit_session(BUNDLE, [], [])
    with pytest.raises(ConfigError, match="without a label"):
        fit_session(BUNDLE, [replace(session[0], label=None)])
    with pytest.raises(ConfigError, match="holds petrol"):
        fit_session(BUNDLE, [replace(session[0], label=Mixture(("petrol",), (1.0,)))])
    with pytest.raises(ConfigError, match="no method"):
        fit_session(BUNDLE, session, method="magic")
    with pytest.raises(ConfigError, match="no recording of clean air"):
        fit_session(BUNDLE, session, method="clean-air")

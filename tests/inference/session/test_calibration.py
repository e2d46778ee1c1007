"""A calibration in words: JSON and back, the identity, and refusal of everything else."""

import json
import math

import numpy as np
import pytest

from tests.live.signals import shipped
from unmixnet.errors import ConfigError
from unmixnet.inference.session.calibration import SessionCalibration

MADE = SessionCalibration(
    ("A", "B"),
    (1.1, 0.9),
    (0.2, -0.1),
    "gain",
    "some",
    "ab" * 32,
    "2026-11-16T00:00:00+00:00",
    "board",
    ("x (y 100 %)",),
)


def test_json_and_back_is_the_same():
    told = json.loads(json.dumps(MADE.to_json(), allow_nan=False))
    again = SessionCalibration.from_json(told)
    assert again.to_json() == MADE.to_json() and math.isnan(again.before)
    assert SessionCalibration.from_text(MADE.to_text()).gain == MADE.gain


def test_a_file_of_the_first_format_is_read():
    stored = {"schema": "unmixnet.session/1", "channels": ["A"], "gain": [1.5], "offset": [0.1], "method": "gain"}
    about = {"bundle": "some", "digest": "ab" * 32, "date": "2026-11-16T00:00:00+00:00", "device": "board"}
    rest = {"references": ["x"], "cross": [], "before": None, "after": 0.1, "left_out": True}
    assert SessionCalibration.from_text(json.dumps(stored | about | rest)).gain == (1.5,)


def test_undone_is_the_identity():
    signal = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    undone = MADE.undone()
    assert np.array_equal(undone.apply(signal), signal) and undone.method == "none"
    assert MADE.apply(signal).dtype == np.float32 and not np.allclose(MADE.apply(signal), signal)


@pytest.mark.parametrize(
    "change",
    [
        {"gain": [1.0]},
        {"gain": [1.0, math.inf]},
        {"offset": "no"},
        {"cross": [[1.0]]},
        {"schema": "unmixnet.inference.session/9"},
        {"extra": 1},
        {"channels": []},
        {"before": "often"},
    ],
)
def test_what_is_no_calibration_is_refused(change):
    with pytest.raises(ConfigError):
        SessionCalibration.from_json({**MADE.to_json(), **change})


@pytest.mark.parametrize("text", ["", "[]", "null", '{"schema": "x"', "[" * 5000, "9" * 2_000_000])
def test_text_that_is_no_calibration_is_refused(text):
    with pytest.raises(ConfigError):
        SessionCalibration.from_text(text)


def test_a_calibration_belongs_to_its_model():
    with pytest.raises(ConfigError, match="was made for the model some"):
        MADE.check(shipped())

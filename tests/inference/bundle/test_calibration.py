"""A calibration survives JSON, and what is no calibration is refused."""

import json

import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.calibration import Calibration, fit_background, fit_intervals
from unmixnet.inference.bundle.novelty import fit_novelty

from .synthetic_evidence import several
from .test_conformal import recordings


def calibration() -> Calibration:
    train, held = several(0, 40), several(1, 20)
    return Calibration(
        (0.2,) * 5,
        0.8,
        0.05,
        noise=(0.1, 0.2),
        intervals=fit_intervals(*recordings(np.random.default_rng(0), 20)),
        background=fit_background(train, held, noise=0.1, own_baseline=True),
        novelty=fit_novelty(train, held),
    )


def test_it_comes_back_equal_from_json():
    before = calibration()
    after = Calibration.from_json(json.loads(json.dumps(before.to_json(), allow_nan=False)))
    assert after == before
    one = several(2, 1)[0]
    assert after.novelty is not None and before.novelty is not None
    assert after.novelty.score(one) == before.novelty.score(one)


def test_infinite_intervals_survive_json():
    before = Calibration((0.5, 0.5))
    after = Calibration.from_json(json.loads(json.dumps(before.to_json(), allow_nan=False)))
    assert after == before and after.intervals.of(np.array([0.3, 0.7]))[1].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("temperature",), 0.0),
        (("temperature",), "hot"),
        (("support",), 1.5),
        (("smoothing",), "median"),
        (("prior",), []),
        (("background", "typical"), -1.0),
        (("novelty", "spread"), [0.0, 1.0, 1.0]),
        (("novelty", "embedding"), None),
        (("intervals", "floor"), None),
        (("unknown",), 1),
    ],
)
def test_what_is_no_calibration_is_refused(place, value):
    told = calibration().to_json()
    inside = told
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    with pytest.raises(ConfigError, match="no calibration"):
        Calibration.from_json(told)


@pytest.mark.parametrize("told", [None, [], "x", {}, {"prior": [1.0]}])
def test_other_json_is_refused(told):
    with pytest.raises(ConfigError, match="no calibration"):
        Calibration.from_json(told)

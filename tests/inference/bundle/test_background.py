"""Clean air is nothing; a sensor on the wrong side of clean air is not clean air."""

import dataclasses

import numpy as np

from unmixnet.inference.bundle.calibration import Background, departure, fit_background

from .synthetic_evidence import several


def at(level: float):
    return several(9, 1, level=level)[0]


def test_recordings_like_those_of_training_are_something():
    train, held = several(0, 40), several(1, 20)
    background = fit_background(train, held, noise=0.05, own_baseline=False)
    assert not any(background.is_nothing(one) for one in (*train, *held))
    assert abs(np.median([background.strength(one) for one in train]) - 1) < 1e-12


def test_clean_air_is_nothing():
    background = fit_background(several(0, 40), several(1, 20), noise=0.05, own_baseline=False)
    assert background.is_nothing(at(0.0)) and background.strength(at(0.0)) < background.threshold


def test_the_strength_under_which_nothing_is_claimed_is_where_claims_end():
    background = Background(typical=2.0, least=0.5)
    assert background.threshold == 0.25
    for level in np.linspace(-0.5, 1.5, 21):
        one = at(level)
        assert background.is_nothing(one) == (background.strength(one) < background.threshold)


def test_a_sensor_far_beyond_clean_air_is_not_nothing():
    background = Background(typical=2.0, least=0.5)
    one = at(0.0)
    fallen = one.departure - np.array([0.0, 5.0])
    fallen = dataclasses.replace(one, departure=fallen, unrest=np.abs(fallen))
    assert departure(fallen) < background.least and not background.is_nothing(fallen)


def test_a_sensor_that_swings_around_clean_air_is_not_nothing():
    one = at(0.0)
    assert not Background(2.0, 0.5).is_nothing(dataclasses.replace(one, unrest=one.unrest + 3))


def test_the_noise_of_a_first_row_is_not_taken_for_an_odour():
    """Where a recording gives its own baseline, clean air departs by the noise of that row."""
    weak = several(1, 20, level=1.0)
    own = fit_background(weak, weak, noise=0.12, own_baseline=True)
    other = fit_background(weak, weak, noise=0.12, own_baseline=False)
    assert own.least > other.least and own.least <= 0.5 * min(map(departure, weak)) * 1.2

"""The onset is found where the derivative leaves the noise, else by the two fallbacks."""

import numpy as np
import pytest

from unmixnet.recordings.fingerprints import find_onset

TIME = np.arange(600) / 10


def _exposure(start_s: float, noise: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rise = 1 - np.exp(-np.maximum(TIME - start_s, 0) / 5)
    return rise[:, None] * np.array([1.0, 0.5, -0.3]) + rng.normal(0, noise, size=(600, 3))


@pytest.mark.parametrize("start_s", [10.0, 20.0, 33.3])
@pytest.mark.parametrize("seed", range(5))
def test_a_clear_onset_is_found_by_its_derivative_within_a_second(start_s, seed):
    found = find_onset(TIME, _exposure(start_s, 0.003, seed))
    assert found.how == "derivative"
    assert found.time_s == pytest.approx(start_s, abs=1.0)


def test_a_spike_is_no_onset():
    series = _exposure(30, 0.003)
    series[120] += 1.0
    assert find_onset(TIME, series).time_s == pytest.approx(30, abs=1.0)


def test_where_the_derivative_is_unstable_the_known_insertion_is_taken():
    slow = (TIME / 60)[:, None] * np.ones(2)  # a steady drift from the start: no change of speed
    assert find_onset(TIME, slow, inserted_s=12.0) == find_onset(TIME, slow, inserted_s=12.0)
    found = find_onset(TIME, slow, inserted_s=12.0)
    assert (found.how, found.time_s) == ("insertion", 12.0)


def test_without_a_known_insertion_the_first_tenth_of_the_response_is_taken():
    slow = (TIME / TIME[-1])[:, None] * np.ones(2)
    found = find_onset(TIME, slow)
    assert found.how == "threshold"
    assert found.time_s == pytest.approx(6.0, abs=0.2)


def test_what_never_responds_has_no_onset():
    assert find_onset(TIME, np.ones((600, 2))).how == "none"

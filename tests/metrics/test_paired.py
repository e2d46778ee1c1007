"""Differences of two models on the same recordings: sign, interval, p, and what pairing is for."""

import numpy as np
import pytest

from unmixnet.errors import UnmixError
from unmixnet.metrics import Tally, paired_difference

N = 200
HARD = np.random.default_rng(0).normal(1, 0.5, N)
"""How hard each recording is for everyone."""


def tally(values, count=1) -> Tally:
    return Tally(np.asarray(values, float) * count, np.full(N, float(count)))


def noise(seed: int) -> np.ndarray:
    return 0.1 * np.random.default_rng(seed).normal(size=N)


def test_a_small_but_steady_difference_is_found_among_recordings_of_all_kinds():
    told = paired_difference(tally(HARD + noise(1)), tally(HARD + 0.05 + noise(2)), range(N))
    assert told.lo < -0.05 < told.hi < 0 and told.p < 0.01
    unpaired = paired_difference(tally(HARD + noise(1)), tally(HARD[::-1] + 0.05 + noise(2)), range(N))
    assert unpaired.lo < 0 < unpaired.hi, "twin: without pairs it is lost"


def test_turning_it_round_turns_the_sign():
    first, second = tally(HARD + noise(1)), tally(HARD + 0.02 + noise(2))
    there, back = paired_difference(first, second, range(N)), paired_difference(second, first, range(N))
    np.testing.assert_allclose((there.mean, there.lo, there.hi), (-back.mean, -back.hi, -back.lo), atol=1e-12)
    assert there.p == back.p


def test_where_there_is_no_difference_p_is_uniform():
    found = [
        paired_difference(tally(HARD + noise(2 * i)), tally(HARD + noise(2 * i + 1)), range(N), resamples=400).p
        for i in range(300)
    ]
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09
    assert 0.4 < np.mean(np.array(found) < 0.5) < 0.6


@pytest.mark.parametrize("groups", [5, 10, 20])
def test_few_groups_are_not_taken_for_many(groups):
    """Resampling alone would call one in six of such differences certain, of five groups."""
    rng, one = np.random.default_rng(0), np.ones(groups)
    found = [
        paired_difference(Tally(rng.normal(size=groups), one), Tally(0 * one, one), range(groups), resamples=400)
        for _ in range(400)
    ]
    assert np.mean([told.p < 0.05 for told in found]) < 0.08
    assert min(told.p for told in found) >= min(2.0 ** (1 - groups), 1 / 401)
    resampled = np.mean([told.lo > 0 or told.hi < 0 for told in found])
    assert resampled > 0.12 if groups == 5 else resampled > 0.05, "twin: what the interval alone would say"


def test_a_model_with_itself_differs_by_nothing():
    told = paired_difference(tally(HARD), tally(HARD), range(N))
    assert (told.mean, told.lo, told.hi, told.p) == (0, 0, 0, 1)


def test_recordings_of_one_group_stay_together():
    """Ten recordings of one support are not ten pieces of evidence."""
    groups = np.repeat(np.arange(20), 10)
    shared = np.repeat(np.random.default_rng(3).normal(0, 0.1, 20), 10)
    alone, together = (paired_difference(tally(HARD + shared), tally(HARD), g) for g in (range(N), groups))
    assert together.groups == 20
    assert together.hi - together.lo > 2 * (alone.hi - alone.lo)


def test_models_may_see_different_numbers_of_windows():
    told = paired_difference(tally(HARD, count=4), tally(HARD, count=7), range(N))
    assert told.mean == pytest.approx(0, abs=1e-12) and abs(told.lo) < 1e-12


def test_different_recordings_are_refused():
    with pytest.raises(UnmixError, match="different recordings"):
        paired_difference(tally(HARD), Tally(HARD[:-1], HARD[:-1]), range(N))

"""An answer holds together, or it is refused with the place."""

import dataclasses

import numpy as np
import pytest

from unmixnet.errors import UnmixError
from unmixnet.inference.report import Answer, AnswerError, Verdict

from .synthetic_answers import made_up


def test_lists_are_taken_as_arrays(mixture):
    listed = dataclasses.replace(mixture, ratios=mixture.ratios.tolist(), measured=mixture.measured.tolist())
    assert isinstance(listed.ratios, np.ndarray) and listed.measured.shape == mixture.measured.shape


@pytest.mark.parametrize(
    "field", ["ratios", "low", "high", "presence", "measured", "reconstructed", "window_ratios", "window_time_s"]
)
def test_twin_a_part_of_another_size_is_refused_by_name(mixture, field):
    with pytest.raises(UnmixError, match=rf"Answer\.{field}|Answer\.window_ratios"):
        dataclasses.replace(mixture, **{field: getattr(mixture, field)[..., :-1]})


@pytest.mark.parametrize("field", ["concentration_ppm", "flux_mol_m2_s", "coverage", "time_s"])
def test_twin_states_of_another_size_are_refused(mixture, field):
    with pytest.raises(AnswerError, match="States"):
        dataclasses.replace(mixture.states, **{field: getattr(mixture.states, field)[1:]})


def test_twin_states_of_other_components_are_refused(mixture):
    other = made_up(np.full(3, 1 / 3), ("a", "b", "c"))
    with pytest.raises(AnswerError, match="concentration_ppm"):
        dataclasses.replace(mixture, states=other.states)


def test_the_ranking_is_by_share_and_puts_the_unknown_last(mixture):
    shares = np.array([0.1, np.nan, 0.6, 0.3, *np.zeros(8)])
    ranked = dataclasses.replace(mixture, ratios=shares).ranking
    assert ranked[:3].tolist() == [2, 3, 0] and ranked[-1] == 1


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_mixture_is_trusted(mixture: Answer, verdict):
    assert dataclasses.replace(mixture, verdict=verdict).trusted == (verdict == "mixture")

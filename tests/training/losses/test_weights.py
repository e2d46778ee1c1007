"""Weights: the published terms, diagnostics off, and nothing that rewards an error."""

import dataclasses

import pytest

from unmixnet.errors import ConfigError
from unmixnet.training.losses import Weights


def test_diagnostics_are_off_and_supervision_leads():
    weights = Weights()
    assert weights.ms == weights.cons == weights.ads == 0
    assert weights.mix == 1
    assert (weights.rec, weights.freq, weights.ident, weights.entropy) == (0.3, 0.1, 0.0, 0.01)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Weights)])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        Weights(**{name: value})

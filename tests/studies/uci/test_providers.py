"""Frozen models behind the interface of a state provider."""

import jax
import numpy as np
import pytest

from studies.uci.dynamic_table import made_of
from studies.uci.episodes import Series, SeriesPart, Split
from studies.uci.transfer import Frozen, _resampled
from unmixnet.inference.bundle.storage import from_tensors, to_tensors
from unmixnet.model.baselines import BASELINES


@pytest.fixture(scope="module")
def model():
    """An MLP over 60 rows of 4 channels; untrained."""
    with jax.enable_x64(False):
        return BASELINES["mlp"].of(60, 4, 3, size="small", key=jax.random.key(0))


def part(n: int = 40) -> SeriesPart:
    rng = np.random.default_rng(0)
    log_G = 7 + 0.1 * np.cumsum(rng.normal(size=(400, 16)), axis=0)
    series = Series("made up", np.arange(400.0), log_G, np.zeros((400, 2)), ("CO", "ethylene"), np.zeros(400, int))
    return SeriesPart(series, np.arange(60, 60 + n))


def test_a_window_is_resampled_by_straight_lines_and_ends_where_it_ended():
    ramp = np.arange(60.0)[None, :, None]
    np.testing.assert_allclose(_resampled(ramp, 60, 2.0)[0, :, 0], np.arange(59 - 29.5, 59.25, 0.5))
    assert _resampled(ramp, 60, 2.0)[0, -1, 0] == 59


def test_a_model_that_wants_more_than_there_is_gets_the_first_row_again():
    ramp = np.arange(60.0)[None, :, None]
    assert np.all(_resampled(ramp, 100, 1.0)[0, :40, 0] == 0)


def test_the_state_of_a_baseline_is_its_logits(model):
    frozen = Frozen(model, ("NO2", "C2H5OH", "VOC", "CO"), np.zeros(4), np.ones(4), 60, 2.0)
    here = part()
    split = Split("forward", here, here, here)
    provide = made_of({"mlp": frozen})["mlp"](split)
    windows = here.series.log_G[here.ends[:, None] - np.arange(59, -1, -1)]
    states = provide(windows)
    assert states.shape == (40, 3)
    assert states.std() > 0
    np.testing.assert_array_equal(states, provide(windows))


def test_the_arrays_of_a_baseline_survive_being_kept():
    """Of the one whose dropout is no array."""
    with jax.enable_x64(False):
        first, second = (BASELINES["scentformer"].of(60, 4, 3, size="small", key=jax.random.key(k)) for k in (0, 1))
        again = from_tensors(to_tensors(first), second, "kept")
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(first), strict=True):
        np.testing.assert_array_equal(a, b)

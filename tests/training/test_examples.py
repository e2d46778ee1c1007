"""Examples: block means or interpolation, padding that is never looked at, and a refusal of what is too short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import seeds
from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.temporal import resampled
from unmixnet.training.examples import gather_examples, joined, windows_of

from .recordings import CHANNELS, COMPONENTS, recording, recordings

READY = Preprocessing(CHANNELS, standardise=True).fit(recordings())


def gathered(records, window: int = 8, rate_Hz: float = 2.0):
    return gather_examples(records, READY, COMPONENTS, rate_Hz, window)


@given(seed=seeds, block=st.integers(2, 10), rows=st.integers(10, 60))
def test_rates_that_divide_give_means_of_equal_blocks(seed, block, rows):
    series = np.random.default_rng(seed).normal(size=(rows, 3))
    found = resampled(series, 2.0 * block, 2.0)
    expected = [series[i * block : (i + 1) * block].mean(axis=0) for i in range(rows // block)]
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), atol=1e-12)


@given(slope=st.floats(-5, 5), rows=st.integers(10, 60))
def test_other_rates_are_interpolated_and_a_straight_line_stays_one(slope, rows):
    series = slope * np.arange(rows)[:, None] / 3.0
    found = resampled(series, 3.0, 2.0)
    np.testing.assert_allclose(found[:, 0], slope * np.arange(len(found)) / 2.0, atol=1e-9)
    assert len(found) == int(rows / 1.5)


def test_a_rate_that_is_low_already_is_left_alone():
    series = np.random.default_rng(0).normal(size=(9, 2))
    assert resampled(series, 2.0, 2.0) is series


@pytest.mark.parametrize(("from_Hz", "to_Hz"), [(4.0, 2.0), (10.0, 2.0), (3.0, 2.0)])
def test_a_constant_stays_that_constant(from_Hz, to_Hz):
    np.testing.assert_allclose(resampled(np.full((50, 2), 7.0), from_Hz, to_Hz), 7.0)


def test_examples_carry_their_labels_in_the_order_of_the_components():
    examples = gathered([recording(parts=(1, 3, 0)), recording(seed=1, parts=(0, 0, 1))])
    np.testing.assert_allclose(examples.targets, [[0.25, 0.75, 0], [0, 0, 1]])
    assert examples.supports == ("a+b", "c")
    assert len(examples) == 2
    assert examples.traces.dtype == examples.targets.dtype == np.float32


def test_a_shorter_recording_is_filled_up_with_its_last_row_and_windows_never_see_that():
    examples = gathered([recording(40), recording(24, seed=1)])
    np.testing.assert_array_equal(examples.lengths, [20, 12])
    np.testing.assert_array_equal(examples.traces[1, 12:], np.tile(examples.traces[1, 11], (8, 1)))
    cut, owner = windows_of(examples, 8, 3)
    np.testing.assert_array_equal(owner, [0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(cut[-1], examples.traces[1, 3:11])


def test_one_window_fits_exactly():
    cut, owner = windows_of(gathered([recording(16)]), 8, 5)
    assert cut.shape == (1, 8, 2)
    np.testing.assert_array_equal(owner, [0])


def test_a_recording_shorter_than_the_window_is_refused_with_its_path():
    with pytest.raises(
        ConfigError, match=r"made/7\.csv: the recording has 7 rows at 2 Hz, a window has 8\..*shorter window_s"
    ):
        gathered([recording(40), recording(15, seed=7)])


def test_a_recording_slower_than_the_model_is_refused_with_a_rate_that_fits():
    with pytest.raises(
        ConfigError, match=r"1 samples per second, the model takes 2\..*Set model\.rate_Hz to 1 or less"
    ):
        gathered([recording(rate_Hz=1.0)])


def test_a_recording_without_a_label_is_refused():
    with pytest.raises(ConfigError, match="without a label"):
        gathered([recording(label=False)])


def test_no_recording_at_all_is_refused():
    with pytest.raises(ConfigError, match="no recording to train on"):
        gathered([])


def test_joined_examples_are_those_of_all_recordings_at_once():
    short, long = recordings(2, rows=40), [recording(60, seed=7), recording(50, seed=8)]
    for first, second in ((short, long), (long, short)):
        both, whole = joined(gathered(first), gathered(second)), gathered([*first, *second])
        for name in ("traces", "lengths", "targets"):
            np.testing.assert_array_equal(getattr(both, name), getattr(whole, name))
        assert (both.names, both.supports) == (whole.names, whole.supports)

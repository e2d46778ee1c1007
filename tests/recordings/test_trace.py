"""A recording reaches the model on its own clock, or an error says what is missing."""

import dataclasses

import numpy as np
import pytest

from tests.inference.bundle import tiny
from tests.inference.bundle.tiny import shared_home  # noqa: F401
from unmixnet.errors import UnmixError
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.trace import trace_of


@pytest.fixture(scope="module")
def ready():
    return tiny.prepared()[0]


@pytest.fixture
def recording():
    return read_recording(tiny.folder() / "s0_0.csv")


def trace(ready, recording):
    return trace_of(recording, ready.preprocessing, rate_Hz=ready.config.model.rate_Hz, window=ready.config.window)


def test_the_trace_is_what_training_saw(ready, recording):
    name = ready.train.names[0]
    row = trace(ready, read_recording(tiny.folder() / name, place=name))
    np.testing.assert_array_equal(row.signal, ready.train.traces[0][: ready.train.lengths[0]])


def test_rows_carry_the_time_of_their_middle(ready, recording):
    found = trace(ready, recording)
    np.testing.assert_allclose(found.time_s, recording.time_s.reshape(-1, tiny.RATE).mean(axis=1), atol=1e-9)


def test_the_clock_of_the_recording_is_kept(ready, recording):
    later = dataclasses.replace(recording, time_s=recording.time_s + 1e5)
    np.testing.assert_allclose(trace(ready, later).time_s, trace(ready, recording).time_s + 1e5)


def test_other_channels_and_another_order_do_not_matter(ready, recording):
    readings = np.column_stack([np.arange(len(recording)), recording.readings[:, ::-1]])
    mixed = dataclasses.replace(
        recording,
        readings=readings,
        channels=("T", *recording.channels[::-1]),
        units=("degC", *recording.units[::-1]),
        health=(recording.health[0], *recording.health[::-1]),
    )
    np.testing.assert_array_equal(trace(ready, mixed).signal, trace(ready, recording).signal)


def test_a_missing_sensor_is_named_beside_what_there_is(ready, recording):
    with pytest.raises(UnmixError, match="no channel VOC; the file has NO2, CO, the model needs NO2, VOC, CO"):
        trace(ready, recording.select(("NO2", "CO")))


def test_a_similar_name_is_suggested(ready, recording):
    named = dataclasses.replace(recording, channels=("NO2", "VOC2", "CO"))
    with pytest.raises(UnmixError, match="Rename the column 'VOC2' to 'VOC'"):
        trace(ready, named)


def cut(recording, rows: int):
    return dataclasses.replace(
        recording, time_s=recording.time_s[:rows].copy(), readings=recording.readings[:rows].copy()
    )


def test_a_recording_shorter_than_a_window_says_how_long_it_must_be(ready, recording):
    with pytest.raises(UnmixError, match=r"has 9 s, the model needs at least 10 s\. Record for 10 s or longer"):
        trace(ready, cut(recording, 9 * tiny.RATE))
    assert len(trace(ready, cut(recording, 10 * tiny.RATE))) == 10


def with_gaps(recording, share: float):
    readings = recording.readings.copy()
    readings[10 : 10 + int(share * len(readings)), 1] = np.nan
    return dataclasses.replace(recording, readings=readings)


def test_a_few_missing_readings_are_filled_in_and_mentioned(ready, recording):
    found = trace(ready, with_gaps(recording, 0.05))
    assert np.all(np.isfinite(found.signal)) and found.findings == ("5 missing readings of VOC were interpolated.",)


def test_many_missing_readings_are_an_error(ready, recording):
    with pytest.raises(UnmixError, match="20% of the readings of VOC are missing"):
        trace(ready, with_gaps(recording, 0.2))


def test_a_slow_recording_is_interpolated_to_the_rate_of_the_model(ready, recording):
    rows = slice(None, None, 2 * tiny.RATE)
    slow = dataclasses.replace(
        recording,
        time_s=recording.time_s[rows].copy(),
        readings=recording.readings[rows].copy(),
        sample_rate_Hz=0.5,
    )
    found = trace(ready, slow)
    assert len(found) == 19 and "interpolated to 1" in found.findings[0]
    np.testing.assert_allclose(np.diff(found.time_s), 1.0)

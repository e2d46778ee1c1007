"""Preprocessing learns from training recordings only, and travels as JSON."""

import dataclasses

import numpy as np
import pytest

from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import BaselineMethod, Preprocessing, Response
from unmixnet.recordings.recording import ChannelHealth, Recording


def recording(readings: np.ndarray, device: str = "nose") -> Recording:
    M = readings.shape[1]
    return Recording(
        time_s=np.arange(len(readings)) / 10,
        readings=np.array(readings, dtype=float),
        channels=tuple("abc"[:M]),
        units=("counts",) * M,
        sample_rate_Hz=10.0,
        device=device,
        path="somewhere.csv",
        label=None,
        health=(ChannelHealth.OK,) * M,
    )


RNG = np.random.default_rng(0)
TRAIN = [recording(RNG.uniform(300, 700, size=(200, 3))) for _ in range(4)]
TEST = recording(RNG.uniform(100, 200, size=(200, 3)))
PLAIN = Preprocessing(channels=("a", "b", "c"))


def test_training_rows_come_out_standardised_and_test_rows_by_the_same_numbers():
    ready = PLAIN.fit(TRAIN)
    rows = np.concatenate([ready.signal(r) for r in TRAIN])
    assert rows.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert rows.std(axis=0) == pytest.approx(1)
    expected = (TEST.readings - np.concatenate([r.readings for r in TRAIN]).mean(axis=0)) / np.array(ready.sd)
    assert ready.signal(TEST) == pytest.approx(expected)


def test_a_recording_that_is_only_transformed_changes_no_statistic():
    ready = PLAIN.fit(TRAIN)
    before = ready.to_json()
    ready.signal(TEST)
    assert ready.to_json() == before


def test_it_cannot_be_used_before_it_has_seen_training():
    with pytest.raises(ConfigError, match="has not seen"):
        PLAIN.signal(TEST)
    with pytest.raises(ConfigError, match="no training recordings"):
        PLAIN.fit([])


@pytest.mark.parametrize("baseline", list(BaselineMethod))
@pytest.mark.parametrize("response", list(Response))
@pytest.mark.parametrize("lags", [(), (5, 25)])
def test_every_combination_travels_as_json_and_computes_the_same(baseline, response, lags):
    made = Preprocessing(("a", "b"), baseline=baseline, response=response, lags=lags, keep_level=True, low_pass_Hz=1.0)
    if baseline is BaselineMethod.NONE and response in (Response.RELATIVE, Response.LOG_RATIO):
        with pytest.raises(ConfigError, match="baseline"):
            made.fit(TRAIN)
        return
    ready = made.fit(TRAIN)
    again = Preprocessing.from_json(ready.to_json())
    assert again == ready
    assert np.array_equal(again.signal(TEST), ready.signal(TEST))
    assert ready.signal(TEST).shape[1] == 2 * (1 + len(lags))


def test_an_unknown_mode_is_an_error_that_names_the_known_ones():
    with pytest.raises(ConfigError, match="recording, reference, none"):
        Preprocessing(("a",), baseline="early")


def test_an_unknown_key_in_the_json_is_an_error():
    text = PLAIN.to_json().replace('"stride"', '"strides"')
    with pytest.raises(ConfigError, match="strides"):
        Preprocessing.from_json(text)


def test_the_recording_baseline_of_an_exposed_start_removes_the_level():
    """Why SmellNet mixtures must not use it: two recordings that differ only in level become one."""
    shape = RNG.normal(0, 1, size=(200, 3))
    high, low = recording(shape + 700), recording(shape + 300)
    ready = dataclasses.replace(PLAIN, baseline=BaselineMethod.RECORDING, standardise=False).fit(TRAIN)
    assert ready.signal(high) == pytest.approx(ready.signal(low))
    kept = dataclasses.replace(PLAIN, standardise=False).fit(TRAIN)
    assert kept.signal(high) != pytest.approx(kept.signal(low))


def test_the_reference_is_the_training_devices_and_no_other():
    ready = dataclasses.replace(PLAIN, baseline=BaselineMethod.REFERENCE).fit(TRAIN)
    assert set(ready.reference) == {"nose"}
    with pytest.raises(ConfigError, match="clean air"):
        ready.signal(recording(TEST.readings, device="other nose"))


def test_missing_readings_are_refused_by_name():
    readings = TEST.readings.copy()
    readings[3, 1] = np.nan
    with pytest.raises(ConfigError, match="missing in b"):
        PLAIN.fit([recording(readings)])

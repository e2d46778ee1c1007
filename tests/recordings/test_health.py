"""Verdicts on channels: each ill channel is found, and its sound twin is not."""

import numpy as np
import pytest

from unmixnet.recordings.codes import ChannelHealth
from unmixnet.recordings.health import judge

ROWS = 200


def sound(seed: int = 0) -> np.ndarray:
    return np.round(np.random.default_rng(seed).normal(500, 20, ROWS))


def verdict(values: np.ndarray, unit: str = "counts", **options) -> ChannelHealth:
    return judge(values[:, None].astype(float), ("S",), (unit,), **options).health[0]


def with_values(values, share: float) -> np.ndarray:
    channel = sound()
    channel[: int(share * ROWS)] = values
    return channel


@pytest.mark.parametrize(
    ("channel", "unit", "expected"),
    [
        (sound(), "counts", ChannelHealth.OK),
        (with_values(4294967295, 0.01), "counts", ChannelHealth.SENTINEL),
        (with_values(512, 1.0), "counts", ChannelHealth.STUCK),
        (with_values(1023, 0.06), "counts", ChannelHealth.SATURATED),
        (with_values(1023, 0.04), "counts", ChannelHealth.OK),
        (with_values(1023, 0.06), "ppb", ChannelHealth.OK),
        (with_values(4095, 0.06), "counts", ChannelHealth.SATURATED),
        (with_values(0, 0.06), "counts", ChannelHealth.SATURATED),
        (with_values(0, 0.06), "ppb", ChannelHealth.OK),
        (with_values(0, 1.0), "kOhm", ChannelHealth.DEAD),
        (with_values(np.nan, 0.11), "counts", ChannelHealth.MISSING),
        (with_values(np.nan, 0.09), "counts", ChannelHealth.OK),
        (with_values(np.nan, 1.0), "counts", ChannelHealth.MISSING),
        (sound(), "unknown", ChannelHealth.UNIT_UNKNOWN),
        (with_values(21.5, 1.0), "degC", ChannelHealth.OK),
    ],
)
def test_each_condition_has_its_verdict(channel: np.ndarray, unit: str, expected: ChannelHealth):
    assert verdict(channel, unit) is expected


def test_sentinels_become_nan_and_nothing_else_changes():
    channel = with_values(4294967295, 0.1)
    clean = judge(channel[:, None], ("S",), ("counts",)).readings[:, 0]
    np.testing.assert_array_equal(np.isnan(clean), channel == 4294967295)
    np.testing.assert_array_equal(clean[20:], channel[20:])


def test_sentinels_of_ones_own_firmware_can_be_named():
    assert verdict(with_values(-999, 0.1), "ppb") is ChannelHealth.OK
    assert verdict(with_values(-999, 0.1), "ppb", sentinels=(-999.0,)) is ChannelHealth.SENTINEL


def test_the_full_scale_of_a_channel_can_be_stated():
    assert verdict(with_values(700, 0.1)) is ChannelHealth.OK
    assert verdict(with_values(700, 0.1), full_scale={"S": 700}) is ChannelHealth.SATURATED


BME680 = ("Temperature", "Pressure", "Humidity", "Gas_Resistance", "Altitude")
UNITS = ("degC", "hPa", "%RH", "kOhm", "m")
ASLEEP = np.tile([33.59, 688.6, 100.0, 0.0, 3170.54], (ROWS, 1))


def test_a_bme680_that_never_answered_is_dead_in_all_its_channels():
    assert judge(ASLEEP, BME680, UNITS).health == (ChannelHealth.DEAD,) * 5


def test_a_bme680_that_woke_up_for_one_row_is_not_called_dead_throughout():
    awake = ASLEEP.copy()
    awake[50] = [25.0, 1013.0, 40.0, 55.0, 2.0]
    assert ChannelHealth.DEAD not in judge(awake, BME680, UNITS).health


def test_every_ill_channel_has_one_finding():
    table = np.column_stack([sound(), with_values(4294967295, 1.0), with_values(7, 1.0)])
    checkup = judge(table, ("A", "B", "C"), ("counts",) * 3)
    assert [(finding.channel, finding.code.value) for finding in checkup.findings] == [
        ("B", "sentinel"),
        ("C", "stuck"),
    ]

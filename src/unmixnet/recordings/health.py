"""The health of each channel, judged from its readings alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.recordings.channels import UNKNOWN_UNIT
from unmixnet.recordings.codes import ChannelHealth, Code
from unmixnet.recordings.recording import Finding

__all__ = ["Checkup", "judge"]

SENTINELS = (4294967295.0,)
"""Error values of firmware: -1 stored as an unsigned 32-bit number."""

RAILS = (255.0, 1023.0, 4095.0, 16383.0, 32767.0, 65535.0)
"""Upper ends of 8, 10, 12, 14, 15 and 16 bit converters."""

BME680_ASLEEP = {"Pressure": 688.6, "Humidity": 100.0, "Gas_Resistance": 0.0}
"""What a BME680 that never answered reads as; its temperature and altitude are then constants too."""

_BME680 = frozenset([*BME680_ASLEEP, "Temperature", "Altitude"])
_FEWEST_ROWS = 20
_MISSING_SHARE = 0.1
_RAIL_SHARE = 0.05
_NEVER_ZERO = frozenset(["counts", "Ohm", "kOhm", "MOhm", "hPa"])
_ENVIRONMENT = frozenset(["degC", "hPa", "%RH", "m"])


@dataclass(frozen=True)
class Checkup:
    """Readings with error values replaced by NaN, a verdict for every channel, and the findings."""

    readings: np.ndarray
    health: tuple[ChannelHealth, ...]
    findings: tuple[Finding, ...]


def judge(
    readings: np.ndarray,
    channels: Sequence[str],
    units: Sequence[str],
    *,
    full_scale: Mapping[str, float] | None = None,
    sentinels: Sequence[float] = SENTINELS,
) -> Checkup:
    """Judge every channel.

    Arguments:
        readings: shape (T, M), as read.
        channels, units: one name and unit per channel.
        full_scale: highest reading a channel can show, where known; else that of common converters.
        sentinels: values that stand for "no reading".
    """
    failed = np.zeros(readings.shape, bool)
    for sentinel in sentinels:
        failed |= readings == sentinel
    clean = np.where(failed, np.nan, readings) if failed.any() else readings
    asleep = _bme680_asleep(clean, channels)
    verdicts = []
    for m, (channel, unit) in enumerate(zip(channels, units, strict=True)):
        top = (full_scale or {}).get(channel)
        if asleep and channel in _BME680:
            verdicts.append((ChannelHealth.DEAD, f"a BME680 that did not answer: {clean[0, m]:g} throughout"))
        else:
            verdicts.append(_verdict(clean[:, m], int(failed[:, m].sum()), unit, top))
    findings = tuple(
        Finding(Code(health.value.replace("_", "-")), f"{channel}: {why}", channel=channel, count=count)
        for channel, (health, why), count in zip(channels, verdicts, _counts(clean, failed), strict=True)
        if health is not ChannelHealth.OK
    )
    return Checkup(clean, tuple(health for health, _ in verdicts), findings)


def _counts(clean: np.ndarray, failed: np.ndarray) -> list[int]:
    """Readings concerned: those that failed, else those that are absent, else all."""
    absent = np.isnan(clean).sum(axis=0)
    return [int(f or a or len(clean)) for f, a in zip(failed.sum(axis=0), absent, strict=True)]


def _bme680_asleep(clean: np.ndarray, channels: Sequence[str]) -> bool:
    """True if pressure, humidity and gas resistance all read as the power-on constants throughout."""
    if not BME680_ASLEEP.keys() <= set(channels):
        return False
    index = [list(channels).index(name) for name in BME680_ASLEEP]
    return bool(np.all(np.abs(clean[:, index] - np.array(list(BME680_ASLEEP.values()))) < 0.05))


def _verdict(values: np.ndarray, failed: int, unit: str, full_scale: float | None) -> tuple[ChannelHealth, str]:
    """Verdict on one channel, gravest first, and the reason."""
    rows = len(values)
    absent = np.isnan(values)
    present = values[~absent] if absent.any() else values
    if failed:
        return ChannelHealth.SENTINEL, f"{failed} of {rows} readings are the firmware's error value"
    if rows - len(present) > _MISSING_SHARE * rows:
        return ChannelHealth.MISSING, f"{rows - len(present)} of {rows} readings are absent"
    if rows >= _FEWEST_ROWS and present.min() == present.max():
        if present[0] == 0 and unit in _NEVER_ZERO:
            return ChannelHealth.DEAD, "zero throughout"
        if unit not in _ENVIRONMENT:
            return ChannelHealth.STUCK, f"{present[0]:g} throughout"
    at_rail = _at_rail(present, unit, full_scale)
    if rows >= _FEWEST_ROWS and at_rail >= _RAIL_SHARE * rows:
        return ChannelHealth.SATURATED, f"{at_rail} of {rows} readings are at the end of the range"
    if unit == UNKNOWN_UNIT:
        return ChannelHealth.UNIT_UNKNOWN, "no unit is stated; name it in the header or in a sidecar file"
    return ChannelHealth.OK, ""


def _at_rail(present: np.ndarray, unit: str, full_scale: float | None) -> int:
    """How many readings sit on the upper end of the range, or on zero for converter counts."""
    highest = float(present.max())
    rail = highest if unit in ("counts", UNKNOWN_UNIT) and highest in RAILS else np.inf
    top = full_scale if full_scale is not None else rail
    bottom = 0.0 if unit == "counts" else -np.inf
    return int(max((present >= top).sum(), (present <= bottom).sum()))

"""Signs that a file was computed, not measured: white noise, and values off the converter's grid."""

from collections.abc import Mapping, Sequence

import numpy as np

__all__ = ["decimals", "is_white_noise", "lag1_autocorrelation", "off_grid_channels", "usual_decimals"]

MAX_DECIMALS = 6


def lag1_autocorrelation(readings: np.ndarray) -> np.ndarray:
    """Correlation of each channel with itself one sample later, shape (M,); NaN where nothing changes."""
    count = np.maximum(np.sum(np.isfinite(readings), axis=0), 1)
    centred = np.nan_to_num(readings - np.nansum(readings, axis=0) / count)
    power = np.sum(centred**2, axis=0)
    product = np.sum(centred[1:] * centred[:-1], axis=0)
    return np.divide(product, power, out=np.full(power.shape, np.nan), where=power > 0)


def is_white_noise(readings: np.ndarray, *, standard_errors: float = 4.0) -> bool:
    """Whether no channel remembers its previous sample: every r₁ is within 4/√T of zero.

    White noise of length T has r₁ = 0 ± 1/√T. A metal-oxide sensor has a time constant of seconds, so at the
    usual 1 to 100 Hz even a quiet, coarsely quantised recording has a channel with r₁ well above that. At
    least two channels must vary: a single one proves little.
    """
    if len(readings) < 50:
        return False
    r1 = lag1_autocorrelation(readings)
    r1 = r1[np.isfinite(r1)]
    return len(r1) >= 2 and bool(np.all(np.abs(r1) < standard_errors / np.sqrt(len(readings))))


def decimals(readings: np.ndarray) -> tuple[int, ...]:
    """Decimal places that each channel uses, up to 6."""
    count = np.zeros(readings.shape[1], dtype=int)
    for place in range(MAX_DECIMALS):
        scaled = readings * 10.0**place
        off = np.any(np.abs(scaled - np.round(scaled)) > 1e-6 * np.maximum(np.abs(scaled), 1), axis=0)
        count[off] = place + 1
    return tuple(int(n) for n in count)


def usual_decimals(places: Sequence[tuple[int, ...]], *, majority: float = 0.5) -> tuple[int | None, ...]:
    """Decimal places that most recordings of an array use, for each channel; None where there is no majority.

    The smallest number that a majority does not exceed: a converter with two decimals also writes 25.5.
    """
    table = np.asarray(places)
    usual: list[int | None] = []
    for column in table.T:
        limit = next(n for n in range(MAX_DECIMALS + 1) if np.mean(column <= n) > majority)
        usual.append(limit if limit < MAX_DECIMALS else None)
    return tuple(usual)


def off_grid_channels(
    places: tuple[int, ...], usual: tuple[int | None, ...], channels: Sequence[str]
) -> Mapping[str, int]:
    """Channels that use more decimals than the array's converter writes, with how many they use."""
    pairs = zip(channels, places, usual, strict=True)
    return {name: used for name, used, limit in pairs if limit is not None and used > limit}

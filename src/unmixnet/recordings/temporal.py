"""Differences, filters, rates and windows along time, all causal: they can run on a live stream."""

from collections.abc import Sequence

import numpy as np

from unmixnet.errors import ConfigError

__all__ = ["cut_windows", "high_pass", "lag_differences", "low_pass", "resampled", "rows_per_sample", "window_starts"]


def lag_differences(series: np.ndarray, lags: Sequence[int]) -> np.ndarray:
    """y[t] − y[t−p] for each lag p, side by side: shape (T − max p, M · lags); the first rows are lost."""
    if not lags or min(lags) < 1:
        raise ConfigError(f"lags must be positive numbers of rows, saw {list(lags)}", remedy="Use e.g. lags=(25,)")
    longest = max(lags)
    if longest >= len(series):
        raise ConfigError(
            f"a lag of {longest} rows needs a longer recording, this one has {len(series)}",
            remedy="Use shorter lags, or leave this recording out",
        )
    blocks = [series[longest:] - series[longest - lag : len(series) - lag] for lag in lags]
    return np.concatenate(blocks, axis=1)


def low_pass(series: np.ndarray, rate_Hz: float, cutoff_Hz: float) -> np.ndarray:
    """First-order low pass: z[t] = z[t−1] + a (y[t] − z[t−1]), a = 1 − exp(−2π f_c / rate), z[0] = y[0]."""
    if not 0 < cutoff_Hz < rate_Hz / 2:
        raise ConfigError(
            f"a cutoff of {cutoff_Hz} Hz must lie between 0 and half the rate of {rate_Hz} Hz",
            remedy="Lower the cutoff",
        )
    from scipy.signal import lfilter

    a = 1 - np.exp(-2 * np.pi * cutoff_Hz / rate_Hz)
    smooth, _ = lfilter([a], [1, a - 1], series, axis=0, zi=(1 - a) * series[:1])
    return smooth


def high_pass(series: np.ndarray, rate_Hz: float, cutoff_Hz: float) -> np.ndarray:
    """What the low pass leaves out; starts at zero."""
    return series - low_pass(series, rate_Hz, cutoff_Hz)


def window_starts(length: int, window: int, stride: int) -> range:
    """First rows of the windows of a trace; an unfilled tail is dropped."""
    return range(0, length - window + 1, stride)


def cut_windows(series: np.ndarray, length: int, stride: int) -> np.ndarray:
    """Windows of `length` rows every `stride` rows, shape (n, length, M); an unfilled tail is dropped."""
    if length < 1 or stride < 1:
        raise ConfigError(f"window {length} and stride {stride} must be positive", remedy="Use e.g. 100 and 50")
    if len(series) < length:
        return np.empty((0, length, series.shape[1]), series.dtype)
    return np.stack([series[start : start + length] for start in window_starts(len(series), length, stride)])


def rows_per_sample(rate_Hz: float, target_Hz: float) -> tuple[float, bool]:
    """Rows of a recording per sample of the model, and whether samples are means of so many rows."""
    rows = rate_Hz / target_Hz
    if target_Hz > 1.05 * rate_Hz:
        return rows, False
    if target_Hz >= rate_Hz - 1e-9:
        return 1.0, True
    return (float(round(rows)), True) if abs(rows - round(rows)) < 0.02 else (rows, False)


def resampled(series: np.ndarray, rate_Hz: float, target_Hz: float) -> np.ndarray:
    """The series at a lower rate: means of equal blocks, or interpolated where the rates do not divide."""
    rows, whole = rows_per_sample(rate_Hz, target_Hz)
    if rows <= 1.0:
        return series
    if whole:
        size = int(rows)
        samples = len(series) // size
        return series[: samples * size].reshape(samples, size, -1).mean(axis=1)
    place = np.arange(int(len(series) / rows)) * rows
    return np.stack([np.interp(place, np.arange(len(series)), column) for column in series.T], axis=1)

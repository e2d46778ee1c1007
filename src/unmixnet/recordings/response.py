"""From readings to responses: a channel relative to its baseline (supplement, "Baseline correction").

With readings y, baseline b and channel m:

    level            y_m − b_m
    relative         (y_m − b_m) / (|b_m| + ε_b)
    log-ratio        log((y_m + ε_R) / (b_m + ε_R))
    log-conductance  logit(y_m / 1023) − logit(b_m / 1023)

The last is for 10-bit converters behind a divider: Rs/R_L = (1023 − adc)/adc, so the logit is ln G + const.
Without a baseline, b is left out; `relative` and `log-ratio` have no meaning then.
"""

from enum import StrEnum

import numpy as np

from unmixnet.errors import ConfigError

__all__ = ["FULL_SCALE_COUNTS", "Baseline", "Response", "early_level", "log_conductance", "respond"]

FULL_SCALE_COUNTS = 1023.0


class Baseline(StrEnum):
    """Where the baseline comes from.

    `recording`: an early window of the recording itself, for recordings that start in clean air.
    `reference`: clean-air level of the device, estimated on training recordings or given.
    `none`: no baseline. SmellNet mixtures start with the odour already there: an early window of theirs
    holds the label, and subtracting it removes it.
    """

    RECORDING = "recording"
    REFERENCE = "reference"
    NONE = "none"


class Response(StrEnum):
    """How readings are compared with the baseline; see the module's table."""

    LEVEL = "level"
    RELATIVE = "relative"
    LOG_RATIO = "log-ratio"
    LOG_CONDUCTANCE = "log-conductance"


def early_level(time_s: np.ndarray, readings: np.ndarray, window_s: float) -> np.ndarray:
    """Mean of each channel over the first `window_s` seconds, at least one row, shape (M,)."""
    rows = max(int(np.searchsorted(time_s - time_s[0], window_s, side="left")), 1)
    return np.nanmean(readings[:rows], axis=0)


def log_conductance(counts: np.ndarray, full_scale: float = FULL_SCALE_COUNTS) -> np.ndarray:
    """logit(counts / full scale); counts at or beyond a rail are taken half a count inside it."""
    inside = np.clip(counts, 0.5, full_scale - 0.5)
    return np.log(inside / (full_scale - inside))


def respond(
    readings: np.ndarray,
    baseline: np.ndarray | None,
    response: Response,
    *,
    eps_b: float = 1e-9,
    eps_R: float = 1e-9,
) -> np.ndarray:
    """Responses of shape (T, M) to a baseline of shape (M,), or to none."""
    if response is Response.LOG_CONDUCTANCE:
        level = log_conductance(readings)
        return level if baseline is None else level - log_conductance(baseline)
    if baseline is None:
        if response is not Response.LEVEL:
            raise ConfigError(
                f"the response {response.value!r} compares with a baseline, and the baseline mode is 'none'",
                remedy="Use 'level' or 'log-conductance', or a baseline mode that gives one",
            )
        return readings
    if response is Response.LEVEL:
        return readings - baseline
    if response is Response.RELATIVE:
        return (readings - baseline) / (np.abs(baseline) + eps_b)
    return _log_ratio(readings, baseline, eps_R)


def _log_ratio(readings: np.ndarray, baseline: np.ndarray, eps_R: float) -> np.ndarray:
    if np.any(readings + eps_R <= 0) or np.any(baseline + eps_R <= 0):
        raise ConfigError(
            f"a log-ratio needs positive readings, the smallest is {np.nanmin(readings):g}",
            remedy="Use 'relative', or drop readings at or under zero first",
        )
    return np.log((readings + eps_R) / (baseline + eps_R))

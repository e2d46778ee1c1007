"""Preprocessing: readings relative to a baseline, filtered and scaled; fitted on training recordings only."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import high_pass, lag_differences, low_pass

__all__ = [
    "FULL_SCALE_COUNTS",
    "BaselineMethod",
    "Preprocessing",
    "Response",
    "early_level",
    "log_conductance",
    "respond",
]

FULL_SCALE_COUNTS = 1023.0


class BaselineMethod(StrEnum):
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


_CLEAN_QUANTILE = 0.02


@dataclass(frozen=True)
class Preprocessing:
    """Select channels, respond to a baseline, filter, difference, standardise, cut windows; in this order.

    Arguments:
        channels: which, in which order.
        baseline: where the baseline comes from.
        response: how readings are compared with it.
        baseline_s: length of the early window [s], for the baseline mode `recording`; 0 takes the first row.
        first_rows: use only so many rows of each recording; None uses all.
        low_pass_Hz: cutoff of a low pass; None leaves it out. `high_pass_Hz` likewise.
        lags: replace the response by its differences over these lags [rows]; empty keeps the response.
        keep_level: with lags, keep the response beside its differences.
        standardise: subtract mean and divide by standard deviation of all training rows.
        window: rows in a window; `stride`: rows from one window to the next.
        reference: clean-air level of each channel for each device; filled in by `fit` if the mode asks for
            it. mean, sd: of the training rows; filled in by `fit`.
    """

    channels: tuple[str, ...]
    baseline: BaselineMethod | str = BaselineMethod.NONE
    response: Response | str = Response.LEVEL
    baseline_s: float = 0.0
    first_rows: int | None = None
    low_pass_Hz: float | None = None
    high_pass_Hz: float | None = None
    lags: tuple[int, ...] = ()
    keep_level: bool = False
    standardise: bool = True
    window: int = 100
    stride: int = 50
    reference: dict[str, tuple[float, ...]] = field(default_factory=dict)
    mean: tuple[float, ...] = ()
    sd: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("baseline", BaselineMethod), ("response", Response)):
            value = getattr(self, name)
            if value not in [member.value for member in kind]:
                choices = ", ".join(member.value for member in kind)
                raise ConfigError(f"{name} is {value!r}, expected one of {choices}", remedy="Choose one of them")
            object.__setattr__(self, name, kind(value))

    @property
    def fitted(self) -> bool:
        """Whether everything that needs training recordings has seen them."""
        return (bool(self.mean) or not self.standardise) and (
            bool(self.reference) or self.baseline is not BaselineMethod.REFERENCE
        )

    def fit(self, recordings: Iterable[Recording]) -> "Preprocessing":
        """Statistics of training recordings; never call it with others."""
        recordings = list(recordings)
        if not recordings:
            raise ConfigError("there are no training recordings to take statistics of", remedy="Check the split")
        reference = self.reference
        if self.baseline is BaselineMethod.REFERENCE and not reference:
            reference = self._clean_levels(recordings)
        ready = dataclasses.replace(self, reference=reference, mean=(), sd=())
        if not self.standardise:
            return ready
        rows = np.concatenate([ready._signal(recording) for recording in recordings])
        sd = rows.std(axis=0)
        return dataclasses.replace(
            ready,
            mean=tuple(rows.mean(axis=0).tolist()),
            sd=tuple(np.where(sd > 1e-12, sd, 1.0).tolist()),
        )

    def signal(self, recording: Recording) -> np.ndarray:
        """The preprocessed series, shape (T', C)."""
        if not self.fitted:
            raise ConfigError(
                "this preprocessing has not seen its training recordings",
                remedy="Call fit(train_recordings) first",
            )
        return self.standardised(self._signal(recording))

    def standardised(self, series: np.ndarray) -> np.ndarray:
        """Responses (…, C) in standard deviations of the training rows, if the preprocessing standardises."""
        return (series - np.array(self.mean)) / np.array(self.sd) if self.standardise else series

    def to_json(self) -> str:
        """Everything, as JSON text."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Preprocessing":
        """The object that `to_json` wrote; an unknown key is an error."""
        values = json.loads(text)
        if unknown := set(values) - {item.name for item in dataclasses.fields(cls)}:
            raise ConfigError(
                f"unknown preprocessing keys {sorted(unknown)}", remedy="Was it written by a newer version?"
            )
        for key in ("channels", "lags", "mean", "sd"):
            values[key] = tuple(values.get(key, ()))
        values["reference"] = {name: tuple(levels) for name, levels in values.get("reference", {}).items()}
        return cls(**values)

    def _signal(self, recording: Recording) -> np.ndarray:
        """Everything before standardising."""
        selected = recording.select(self.channels)
        readings = selected.readings[: self.first_rows]
        if not np.all(np.isfinite(readings)):
            bad = [
                name for name, column in zip(self.channels, readings.T, strict=True) if not np.all(np.isfinite(column))
            ]
            raise ConfigError(
                f"readings are missing in {', '.join(bad)}",
                where=recording.path,
                remedy="Leave the channel or the recording out",
            )
        series = respond(readings, self._baseline_of(recording, selected.time_s, readings), Response(self.response))
        if self.low_pass_Hz is not None:
            series = low_pass(series, recording.sample_rate_Hz, self.low_pass_Hz)
        if self.high_pass_Hz is not None:
            series = high_pass(series, recording.sample_rate_Hz, self.high_pass_Hz)
        if not self.lags:
            return series
        differences = lag_differences(series, self.lags)
        return np.concatenate([series[max(self.lags) :], differences], axis=1) if self.keep_level else differences

    def _baseline_of(self, recording: Recording, time_s: np.ndarray, readings: np.ndarray) -> np.ndarray | None:
        if self.baseline is BaselineMethod.NONE:
            return None
        if self.baseline is BaselineMethod.RECORDING:
            return early_level(time_s[: len(readings)], readings, self.baseline_s)
        if recording.device not in self.reference:
            raise ConfigError(
                f"no clean-air level for the device {recording.device!r}, only for {sorted(self.reference)}",
                where=recording.path,
                remedy="Record clean air with this device and add its level to `reference`",
            )
        return np.array(self.reference[recording.device])

    def _clean_levels(self, recordings: Sequence[Recording]) -> dict[str, tuple[float, ...]]:
        """For each device, the level that only 2 % of its training recordings lie under on average.

        An estimate, for want of clean-air recordings: the least exposed recordings stand in for air.
        """
        levels: dict[str, list[np.ndarray]] = {}
        for recording in recordings:
            selected = recording.select(self.channels).readings[: self.first_rows]
            levels.setdefault(recording.device, []).append(np.nanmean(selected, axis=0))
        return {
            device: tuple(np.quantile(np.stack(means), _CLEAN_QUANTILE, axis=0).tolist())
            for device, means in levels.items()
        }

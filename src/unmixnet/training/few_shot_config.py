"""Configuration of a few-shot training, derived from the recordings themselves."""

from collections.abc import Sequence

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.files.toml import check_values
from unmixnet.recordings.preprocessing import FULL_SCALE_COUNTS
from unmixnet.recordings.recording import Recording
from unmixnet.training.config import TrainConfig

__all__ = ["check_recordings", "few_shot_config", "starts_in_air"]

_LEAST_S, _WHOLE_S, _PIECE_S = 8.0, 60.0, 30.0
"""Shortest recording; longest window over a whole release; window where the odour is present throughout."""
_MOVES = 0.5
"""Change since the first second over the spread between recordings; above it, recordings start in clean air."""


def check_recordings(recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Names of the substances in order; too few or too short recordings are refused."""
    names: set[str] = set()
    for recording in recordings:
        if recording.label is None:
            raise ConfigError(
                "a recording without a label cannot be trained on", where=recording.path, remedy="Leave it out"
            )
        names |= recording.label.support
    if len(names) < 2 or len(recordings) < 4:
        raise ConfigError(
            f"{len(recordings)} recordings of {len(names)} substances, expected at least four of two",
            remedy="Record each substance at least twice",
        )
    shortest = min(recordings, key=lambda recording: recording.duration_s)
    if shortest.duration_s < _LEAST_S:
        raise ConfigError(
            f"the recording has {shortest.duration_s:.3g} s, expected at least {_LEAST_S:g}",
            where=shortest.path,
            remedy="Record for a minute, starting in clean air",
        )
    return tuple(sorted(names))


def few_shot_config(recordings: Sequence[Recording], *, epochs: int, seed: int) -> TrainConfig:
    """The small preset: whole releases if recordings start in clean air, otherwise pieces of the exposure."""
    shortest = min(recording.duration_s for recording in recordings)
    in_air = starts_in_air(recordings)
    rate = min(2.0, *(recording.sample_rate_Hz for recording in recordings))
    step = max(1.0, np.ceil(rate) / rate)
    patch = min(4.0, shortest / 4)
    return check_values(
        {
            "data": {
                "protocol": "folder:all",
                "baseline": "recording" if in_air else "none",
                "response": _response(recordings, in_air),
                "window_s": min(_WHOLE_S, 0.95 * shortest) if in_air else min(_PIECE_S, 0.9 * shortest),
                "stride_s": 10.0,
                "validation": 0.0,
            },
            "model": {
                "rate_Hz": rate,
                "step_s": round(step * rate) / rate,
                "patch_s": patch,
                "start": "clean air" if in_air else "exposed",
                "release": "rise-decay" if in_air else "constant",
            },
            "training": {
                "seed": seed,
                "epochs": epochs,
                "patience": epochs,
                "batch": min(16, len(recordings)),
                "rate": 2e-3,
                "physics_rate": 0.3,  # few recordings: the physics must not fit their noise
                "ema": min(0.98, 1 - 1 / epochs),
                "mixing": "competitive",
                "jitter_gain": 0.05,
            },
        },
        TrainConfig,
        name="few-shot training",
    )


def starts_in_air(recordings: Sequence[Recording]) -> bool:
    """Whether the readings change after the first second by as much as recordings differ."""
    moved, ends = [], []
    for recording in recordings:
        rows = max(1, round(recording.sample_rate_Hz))
        end = np.nanmean(recording.readings[-len(recording) // 3 :], axis=0)
        moved.append(np.abs(end - np.nanmean(recording.readings[:rows], axis=0)))
        ends.append(end)
    spread = np.maximum(np.std(ends, axis=0), 1e-9)
    return bool(np.median(np.max(np.array(moved) / spread, axis=1)) > _MOVES)


def _response(recordings: Sequence[Recording], in_air: bool) -> str:
    """Counts of a ten-bit converter as log-conductance; other positive readings as a ratio to clean air."""
    channels = set.intersection(*(set(recording.channels) for recording in recordings))
    values = np.concatenate([recording.column(name) for recording in recordings for name in sorted(channels)])
    units = {unit for recording in recordings for unit in recording.units}
    if units <= {"counts", "unknown", ""} and np.nanmax(values) <= FULL_SCALE_COUNTS and np.nanmin(values) >= 0:
        return "log-conductance"
    return "log-ratio" if in_air and np.nanmin(values) > 0 else "level"

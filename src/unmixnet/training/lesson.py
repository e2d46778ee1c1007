"""What a lesson is made of: a configuration that suits the recordings, and groups of them that are left out in turn."""

from collections.abc import Sequence

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.response import FULL_SCALE_COUNTS
from unmixnet.training.config import TrainConfig

__all__ = ["FEW", "check_lesson", "groups_of", "lesson_config", "starts_in_air"]

FEW = 12
"""Recordings up to which each is left out by itself."""
_GROUPS = 6
_LEAST_S, _WHOLE_S, _PIECE_S = 8.0, 60.0, 30.0
"""Shortest recording; longest window that holds a whole release; window where the odour is there all the time."""
_MOVES = 0.5
"""Movement since the first second, over the spread between recordings, from which on they start in clean air."""


def check_lesson(recordings: Sequence[Recording]) -> tuple[str, ...]:
    """The substances of a lesson in order of name, or an error that says what is missing."""
    names: set[str] = set()
    for recording in recordings:
        if recording.label is None:
            raise ConfigError("a recording without a label cannot teach", where=recording.path, remedy="Leave it out")
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


def lesson_config(recordings: Sequence[Recording], *, epochs: int, seed: int) -> TrainConfig:
    """The small preset: whole releases if recordings start in clean air, otherwise pieces of the exposure."""
    shortest = min(recording.duration_s for recording in recordings)
    in_air = starts_in_air(recordings)
    rate = min(2.0, *(recording.sample_rate_Hz for recording in recordings))
    step = max(1.0, np.ceil(rate) / rate)
    patch = min(4.0, shortest / 4)
    return TrainConfig.model_validate(
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
                "physics_rate": 0.3,  # few recordings: the physics must not run after their noise
                "ema": min(0.98, 1 - 1 / epochs),
                "mixing": "competitive",
                "jitter_gain": 0.05,
            },
        }
    )


def starts_in_air(recordings: Sequence[Recording]) -> bool:
    """Whether the sensors move after the first second by as much as recordings differ."""
    moved, ends = [], []
    for recording in recordings:
        rows = max(1, round(recording.sample_rate_Hz))
        end = np.nanmean(recording.readings[-len(recording) // 3 :], axis=0)
        moved.append(np.abs(end - np.nanmean(recording.readings[:rows], axis=0)))
        ends.append(end)
    spread = np.maximum(np.std(ends, axis=0), 1e-9)
    return bool(np.median(np.max(np.array(moved) / spread, axis=1)) > _MOVES)


def groups_of(recordings: Sequence[Recording], *, seed: int) -> list[list[int]]:
    """Numbers of the recordings that are left out together: one by one, or in six groups that hold every recipe."""
    n = len(recordings)
    if n <= FEW:
        return [[i] for i in range(n)]
    order = np.random.default_rng(seed).permutation(n).tolist()
    by_recipe = sorted(order, key=lambda i: _recipe(recordings[i]))
    return [sorted(by_recipe[group::_GROUPS]) for group in range(_GROUPS)]


def _recipe(recording: Recording) -> str:
    assert recording.label is not None, "lessons have labels"
    return "+".join(sorted(recording.label.support))


def _response(recordings: Sequence[Recording], in_air: bool) -> str:
    """Counts of a ten-bit converter as log-conductance; other positive readings as a ratio to clean air."""
    channels = set.intersection(*(set(recording.channels) for recording in recordings))
    values = np.concatenate([recording.column(name) for recording in recordings for name in sorted(channels)])
    units = {unit for recording in recordings for unit in recording.units}
    if units <= {"counts", "unknown", ""} and np.nanmax(values) <= FULL_SCALE_COUNTS and np.nanmin(values) >= 0:
        return "log-conductance"
    return "log-ratio" if in_air and np.nanmin(values) > 0 else "level"

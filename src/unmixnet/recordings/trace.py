"""A recording as a model sees it: its channels, gaps filled, preprocessed, at the model's rate.

Training and inference both come this way; an archive and a live stream, which never hold a whole
recording, do the same row by row (`inference/archive/windows.py`, `live/windows.py`) and are tested against it.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import resampled

__all__ = ["Trace", "missing_channels", "trace_of", "without_gaps"]

_MOST_MISSING = 0.1
"""Share of a channel's readings that may be filled in."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A preprocessed recording at the model's rate.

    Arguments:
        signal: shape (L, M), in standard deviations of the training signal.
        time_s: of each row, on the recording's clock.
        findings: what was done to it.
    """

    signal: np.ndarray
    time_s: np.ndarray
    findings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.signal)


def trace_of(recording: Recording, preprocessing: Preprocessing, *, rate_Hz: float, window: int) -> Trace:
    """The trace at the model's rate, or an error that says which channel or how many seconds are missing.

    Arguments:
        window: rows that the trace must have at least.
    """
    chosen = _selected(recording, preprocessing.channels)
    if len(chosen) < 2:  # no rate and no baseline can be taken from it
        raise _too_short(recording, len(chosen), rate_Hz, window, None)
    whole, filled = without_gaps(chosen)
    rate = whole.sample_rate_Hz
    signal = preprocessing.signal(whole)
    rows, findings = np.arange(len(signal)), filled
    if rate_Hz > 1.05 * rate:
        place = np.arange(int((len(signal) - 1) * rate_Hz / rate) + 1) * rate / rate_Hz
        signal = np.stack([np.interp(place, rows, column) for column in signal.T], axis=1)
        findings += (f"The recording has {rate:.3g} rows per second; it was interpolated to {rate_Hz:g}.",)
    else:
        signal = resampled(signal, rate, rate_Hz)
        place = (np.arange(len(signal)) + 0.5) * len(rows) / max(len(signal), 1) - 0.5
    if len(signal) < window:
        raise _too_short(recording, len(signal), rate_Hz, window, preprocessing.first_rows)
    return Trace(signal.astype(np.float32), np.interp(place, rows, whole.time_s[: len(rows)]), findings)


def _selected(recording: Recording, channels: tuple[str, ...]) -> Recording:
    if absent := missing_channels(channels, recording.channels, where=recording.path):
        raise absent
    return recording.select(channels)


def missing_channels(needed: Sequence[str], given: Sequence[str], *, where: str) -> UnmixError | None:
    """The error that says which channels a model misses, or None if it has all."""
    absent = [name for name in needed if name not in given]
    if not absent:
        return None
    spare = [name for name in given if name not in needed]
    near = difflib.get_close_matches(absent[0], spare, 1, cutoff=0.5)
    remedy = (
        f"Rename the column {near[0]!r} to {absent[0]!r} if it is that sensor"
        if near
        else "Rename the column that holds it, or train a model on the channels that you have"
    )
    return UnmixError(
        f"there is no channel {', '.join(absent)}; the file has {', '.join(given)}, "
        f"the model needs {', '.join(needed)}",
        where=where,
        remedy=remedy,
    )


def without_gaps(recording: Recording) -> tuple[Recording, tuple[str, ...]]:
    """Fill in a few missing readings along a straight line; refuse many."""
    missing = ~np.isfinite(recording.readings)
    if not missing.any():
        return recording, ()
    share = missing.mean(axis=0)
    for name, lost in zip(recording.channels, share, strict=True):
        if lost > _MOST_MISSING:
            raise UnmixError(
                f"{lost:.0%} of the readings of {name} are missing, at most {_MOST_MISSING:.0%} can be filled in",
                where=recording.path,
                remedy="Check the wiring of this sensor with `unmixnet check`",
            )
    filled, rows = recording.readings.copy(), np.arange(len(recording))
    for m in np.flatnonzero(missing.any(axis=0)):
        known = ~missing[:, m]
        filled[:, m] = np.interp(rows, rows[known], filled[known, m])
    names = ", ".join(name for name, lost in zip(recording.channels, share, strict=True) if lost > 0)
    return replace(recording, readings=filled), (f"{missing.sum()} missing readings of {names} were interpolated.",)


def _too_short(recording: Recording, rows: int, rate_Hz: float, window: int, limit: int | None) -> UnmixError:
    needed = window / rate_Hz
    cut = f" of its first {limit} rows" if limit is not None and len(recording) > limit else ""
    return UnmixError(
        f"the recording has {rows / rate_Hz:.3g} s{cut}, the model needs at least {needed:.3g} s",
        where=recording.path,
        remedy=f"Record for {needed:.3g} s or longer",
    )

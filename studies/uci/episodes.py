"""A dynamic recording once a second, its causal windows, and splits by whole episodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.recordings.pieces import Piece, episodes, folds_of_episodes, forward_pieces
from unmixnet.recordings.recording import Recording

__all__ = ["WINDOW_S", "Series", "SeriesPart", "Split", "cross_file", "splits_of", "windows_of"]

WINDOW_S = 60
"""Length of a causal window [s], and its rows."""
STRIDE_S = 5
"""Seconds between the ends of windows."""


@dataclass(frozen=True, eq=False)
class Series:
    """One file, once a second.

    Arguments:
        name: of the file.
        time_s: shape (n,).
        log_G: logarithm of the readings, a bad one replaced by the last good one, shape (n, 16).
        ppm: set points, shape (n, 2).
        gases: their names.
        episode: number of the set point, shape (n,).
    """

    name: str
    time_s: np.ndarray
    log_G: np.ndarray
    ppm: np.ndarray
    gases: tuple[str, ...]
    episode: np.ndarray

    def delayed(self, ends: np.ndarray, delay_s: int) -> np.ndarray:
        """C(t − δ) at rows, shape (n, 2)."""
        return self.ppm[np.maximum(ends - delay_s, 0)]


@dataclass(frozen=True, eq=False)
class SeriesPart:
    """Rows of a series at which windows end."""

    series: Series
    ends: np.ndarray

    @property
    def groups(self) -> np.ndarray:
        """Episode of each window."""
        return self.series.episode[self.ends]


@dataclass(frozen=True, eq=False)
class Split:
    """What is fitted, what is calibrated on (delay, threshold, state to ppm), and what is tested.

    Calibration is every fifth episode of what is not tested; supervised models fit the others.
    """

    name: str
    fit: SeriesPart
    calibration: SeriesPart
    test: SeriesPart


def series_of(recording: Recording, name: str) -> Series:
    """A series from a 1 Hz recording."""
    if recording.exposure_ppm is None or len(recording) < 3 * WINDOW_S:
        raise UnmixError(
            f"{len(recording)} s and set points {'present' if recording.exposure_ppm is not None else 'absent'}",
            where=name,
            remedy="Give a recording of three minutes or more with its set points",
        )
    readings = np.asarray(recording.readings, float)
    good = np.isfinite(readings) & (readings > 0)
    last = np.maximum.accumulate(np.where(good, np.arange(len(readings))[:, None], 0), axis=0)
    filled = np.take_along_axis(np.where(good, readings, np.nan), last, axis=0)
    first = np.nanmedian(np.where(good, readings, np.nan)[:WINDOW_S], axis=0)
    log_G = np.log(np.where(np.isfinite(filled), filled, first))
    episode = np.zeros(len(readings), int)
    for number, piece in enumerate(episodes(recording)):
        episode[piece.start : piece.stop] = number
    ppm = np.asarray(recording.exposure_ppm, float)
    return Series(name, np.asarray(recording.time_s), log_G, ppm, recording.gases, episode)


def windows_of(part: SeriesPart) -> np.ndarray:
    """Log readings of the 60 s up to each end, shape (n, 60, 16): nothing in a window is later than its end."""
    rows = part.ends[:, None] - np.arange(WINDOW_S - 1, -1, -1)
    return part.series.log_G[rows]


def splits_of(series: Series, recording: Recording) -> tuple[Split, ...]:
    """Whole episodes held out (the first of five turns), and the last 30 % after the first 70 %."""
    splits = []
    for name, fold in (("episodes", folds_of_episodes(recording)[0]), ("forward", forward_pieces(recording))):
        test = _rows(series, fold.test)
        rest = _rows(series, fold.train)
        # A window that reaches back into the test would not be independent of it; nor one that ends just before.
        splits.append(Split(name, *_calibrated(series, rest), SeriesPart(series, test)))
    return tuple(splits)


def cross_file(train: Series, test: Series) -> Split:
    """Train on one file, test on all of the other; only for the gases that both have."""
    ends = np.arange(WINDOW_S, len(train.time_s) - 10, STRIDE_S)
    other = np.arange(WINDOW_S, len(test.time_s) - 10, STRIDE_S)
    return Split(f"{train.name} to {test.name}", *_calibrated(train, ends), SeriesPart(test, other))


def _rows(series: Series, pieces: Sequence[Piece]) -> np.ndarray:
    """Ends of windows inside pieces, every five seconds; the first minute and the last ten seconds are left out."""
    inside = np.zeros(len(series.time_s), bool)
    for piece in pieces:
        inside[piece.start : piece.stop] = True
    inside[:WINDOW_S] = False
    inside[-10:] = False
    rows = np.flatnonzero(inside)
    return rows[rows % STRIDE_S == 0]


def _calibrated(series: Series, rows: np.ndarray) -> tuple[SeriesPart, SeriesPart]:
    held = np.unique(series.episode[rows])[2::5]
    chosen = np.isin(series.episode[rows], held)
    if not chosen.any() or not np.all(np.ptp(series.ppm[rows[chosen]], axis=0) > 0):
        raise UnmixError(
            f"{len(held)} calibration episodes in which a gas never changes",
            where=series.name,
            remedy="Give a longer recording: two hours have enough episodes",
        )
    return SeriesPart(series, rows[~chosen]), SeriesPart(series, rows[chosen])

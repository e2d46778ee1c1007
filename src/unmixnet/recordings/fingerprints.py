"""When the response begins (supplement, "Onset alignment").

    t₀ = min { t_n : ‖dỸ/dt (t_n)‖₂ > κ σ_base }

σ_base is the noise of ‖dỸ/dt‖ in the baseline window. Where that is unstable, the known time of insertion
is taken, else the first crossing of a share of the largest response; and a recording that never responds
has no onset.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.recording import Recording

__all__ = ["Fingerprints", "Onset", "find_onset", "fingerprints"]

How = Literal["derivative", "insertion", "threshold", "none"]


@dataclass(frozen=True)
class Onset:
    """Time of the onset [s] and by which rule it was found; 0 and "none" where nothing responds."""

    time_s: float
    how: How


def find_onset(
    time_s: np.ndarray,
    response: np.ndarray,
    *,
    baseline_s: float = 5.0,
    kappa: float = 6.0,
    inserted_s: float | None = None,
    share: float = 0.1,
    smooth_s: float = 1.0,
) -> Onset:
    """Find the onset of a response of shape (T, M).

    The derivative rule counts as stable if the crossing lies after the baseline window and lasts for at least
    half of the following `smooth_s` seconds: a spike does not.

    Arguments:
        inserted_s: when the source was inserted, if known.
        share: of the largest response, for the threshold rule.
        smooth_s: width of the moving average before differentiating.
    """
    speed = _speed(time_s, response, smooth_s)
    start = int(np.searchsorted(time_s - time_s[0], baseline_s))
    if 2 <= start < len(time_s):
        quiet = speed[:start]
        limit = np.median(quiet) + kappa * max(_spread(quiet), 1e-12 + 1e-9 * np.abs(response).max())
        at = _first_lasting(speed[start:] > limit, max(_rows(time_s, smooth_s), 3))
        if at is not None:
            return Onset(float(time_s[start + at]), "derivative")
    if inserted_s is not None:
        return Onset(float(inserted_s), "insertion")
    size = np.linalg.norm(response - response[0], axis=1)
    if size.max() <= 0:
        return Onset(float(time_s[0]), "none")
    return Onset(float(time_s[int(np.argmax(size > share * size.max()))]), "threshold")


def _speed(time_s: np.ndarray, response: np.ndarray, smooth_s: float) -> np.ndarray:
    """‖dỸ/dt‖₂ of the smoothed response, shape (T,)."""
    rows = _rows(time_s, smooth_s)
    kernel = np.ones(rows) / rows
    padded = np.pad(response, ((rows // 2, rows - 1 - rows // 2), (0, 0)), mode="edge")
    smooth = np.stack([np.convolve(column, kernel, mode="valid") for column in padded.T], axis=1)
    return np.linalg.norm(np.gradient(smooth, time_s, axis=0), axis=1)


def _spread(values: np.ndarray) -> float:
    """Standard deviation from the median absolute deviation."""
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


def _first_lasting(above: np.ndarray, rows: int) -> int | None:
    """First index where `above` holds and goes on to hold for half of the next rows."""
    for at in np.flatnonzero(above):
        if np.mean(above[at : at + rows]) >= 0.5 and len(above[at : at + rows]) == rows:
            return int(at)
    return None


def _rows(time_s: np.ndarray, seconds: float) -> int:
    step = float(np.median(np.diff(time_s))) if len(time_s) > 1 else 1.0
    return max(round(seconds / step), 1)


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """One fingerprint for each pure component.

    Arguments:
        components: names, K of them.
        channels: names, M of them.
        time_s: time since the onset [s], shape (T,).
        H: medians, shape (K, T, M).
        noise: covariance of the channels around the medians, shape (M, M).
        counts: recordings behind each fingerprint, shape (K,).
    """

    components: tuple[str, ...]
    channels: tuple[str, ...]
    time_s: np.ndarray
    H: np.ndarray
    noise: np.ndarray
    counts: tuple[int, ...]

    @property
    def matrix(self) -> np.ndarray:
        """Vectorised fingerprints as columns, shape (T·M, K), as in the paper."""
        return self.H.reshape(len(self.components), -1).T

    @property
    def whitened(self) -> np.ndarray:
        """Columns without the common mode, channels whitened by their noise, shape (T·M, K).

        Raw fingerprints of metal-oxide sensors are all positive and nearly parallel. What distinguishes
        components is what is left when the mean fingerprint is subtracted, measured in units of noise.
        """
        values, vectors = np.linalg.eigh(self.noise)
        floor = max(values.max(), 1e-300) * 1e-6
        whitener = vectors / np.sqrt(np.maximum(values, floor)) @ vectors.T
        centred = (self.H - self.H.mean(axis=0)) @ whitener
        return centred.reshape(len(self.components), -1).T


def fingerprints(
    recordings: Iterable[Recording],
    signal: Callable[[Recording], np.ndarray],
    *,
    bins: int = 60,
    span_s: float | None = None,
    align: bool = True,
    components: Sequence[str] | None = None,
) -> Fingerprints:
    """Fingerprints of the recordings that hold one component; mixtures among them are left out.

    Arguments:
        signal: preprocessing without windows, e.g. `preprocessing.signal`.
        bins: points in time of a fingerprint.
        span_s: length after the onset [s]; None takes what all recordings have.
        align: shift each recording to its onset; False where recordings start already exposed.
        components: order of the components; None takes the alphabet.
    """
    curves: dict[str, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
    channels: tuple[str, ...] = ()
    for recording in recordings:
        if recording.label is not None and len(recording.label.support) == 1:
            (name,) = recording.label.support
            curves[name].append(_aligned(recording, signal(recording), align))
            channels = recording.channels
    names = tuple(components) if components is not None else tuple(sorted(curves))
    if missing := [name for name in names if name not in curves]:
        raise ConfigError(
            f"no pure recording of {', '.join(missing)} among the training recordings",
            remedy="Give only components that were recorded pure",
        )
    shortest = min(time[-1] for group in curves.values() for time, _ in group)
    grid = np.linspace(0, min(span_s or shortest, shortest), bins)
    stacks = [np.stack([_resampled(grid, *curve) for curve in curves[name]]) for name in names]
    H = np.stack([np.median(stack, axis=0) for stack in stacks])
    if H.shape[2] != len(channels):
        channels = tuple(f"feature {i + 1}" for i in range(H.shape[2]))
    return Fingerprints(names, channels, grid, H, _noise(stacks, H), tuple(len(stack) for stack in stacks))


def _aligned(recording: Recording, series: np.ndarray, align: bool) -> tuple[np.ndarray, np.ndarray]:
    """Time since the onset, and the series from there on."""
    time_s = recording.time_s[: len(series)]
    start = find_onset(time_s, series).time_s if align else float(time_s[0])
    after = time_s >= start
    return time_s[after] - start, series[after]


def _resampled(grid: np.ndarray, time_s: np.ndarray, series: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(grid, time_s, column) for column in series.T], axis=1)


def _noise(stacks: Sequence[np.ndarray], H: np.ndarray) -> np.ndarray:
    """Covariance of the channels over recordings and time, around each component's median."""
    rest = np.concatenate([(stack - median).reshape(-1, H.shape[2]) for stack, median in zip(stacks, H, strict=True)])
    return rest.T @ rest / len(rest)

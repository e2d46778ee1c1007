"""Pure-component dynamic fingerprints (supplement) and what they can tell apart.

    H_i(t_n, m) = median over recordings r of pure i of ỹ_m^(r)(t_n − t₀^(r))

Only training recordings may be used.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.errors import ConfigError
from unmixnet.recordings.onset import find_onset
from unmixnet.recordings.recording import Recording

__all__ = ["Fingerprints", "fingerprints"]


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

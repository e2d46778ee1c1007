"""A recording: what one device wrote during one exposure, with units, label and health."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.recordings.codes import ChannelHealth, Code

__all__ = ["ChannelHealth", "Code", "Finding", "Mixture", "Recording"]


@dataclass(frozen=True)
class Finding:
    """Something a user of the recording should know: a code, and where it was seen.

    Arguments:
        code: what was found; `code.meaning` and `code.severity` explain it.
        message: this very case in one sentence.
        line: first line concerned, counted from 1; None if it concerns no line.
        column: first column (field, counted from 1) concerned.
        channel: canonical name of the channel concerned.
        count: how many rows or fields are concerned.
    """

    code: Code
    message: str
    line: int | None = None
    column: int | None = None
    channel: str | None = None
    count: int = 1


@dataclass(frozen=True)
class Mixture:
    """Shares of named substances, on the simplex: non-negative, summing to one.

    `raw_sum` is what the shares summed to as written (99 for 33/33/33; 100 or 1 when nothing was amiss).
    """

    names: tuple[str, ...]
    ratios: tuple[float, ...]
    raw_sum: float = 1.0

    def __post_init__(self) -> None:
        ratios = np.asarray(self.ratios, dtype=float)
        if len(self.names) != len(ratios) or not self.names or len(set(self.names)) != len(self.names):
            raise UnmixError(
                f"a mixture needs one ratio for each of its names, saw {self.names} with {self.ratios}",
                remedy="Name every component once",
            )
        if not np.all(np.isfinite(ratios)) or np.any(ratios < 0) or abs(ratios.sum() - 1.0) > 1e-9:
            raise UnmixError(
                f"mixture ratios must be non-negative and sum to 1, saw {self.ratios}",
                remedy="Use Mixture.from_parts, which normalises",
            )

    @classmethod
    def from_parts(cls, names: Sequence[str], parts: Sequence[float]) -> "Mixture":
        """Normalise parts such as percentages, and remember what they summed to."""
        try:
            values = [float(part) for part in parts]
        except (TypeError, ValueError):
            raise UnmixError(f"mixture parts must be numbers, saw {parts!r}", remedy="Check the label") from None
        total = sum(values)
        if not total > 0 or not np.isfinite(total):
            raise UnmixError(f"mixture parts need a positive sum, saw {values}", remedy="Check the label")
        return cls(tuple(names), tuple(value / total for value in values), total)

    @property
    def odd_sum(self) -> float | None:
        """What the shares summed to as written, if that is neither 1 nor 100 but for rounding of decimals."""
        return None if any(abs(self.raw_sum - whole) < 1e-6 * whole for whole in (1, 100)) else self.raw_sum

    @property
    def support(self) -> frozenset[str]:
        """The substances that are present."""
        return frozenset(name for name, ratio in zip(self.names, self.ratios, strict=True) if ratio > 0)

    def vector(self, components: Sequence[str]) -> np.ndarray:
        """Ratios in the order of `components`; a substance that is not among them is an error."""
        missing = self.support - set(components)
        if missing:
            raise UnmixError(
                f"the mixture holds {sorted(missing)}, which is not among the {len(components)} components",
                remedy="Add it to the components, or leave this recording out",
            )
        share = dict(zip(self.names, self.ratios, strict=True))
        return np.array([share.get(name, 0.0) for name in components])


@dataclass(frozen=True, eq=False)
class Recording:
    """One continuous recording of M channels over T rows; its arrays are read-only.

    Arguments:
        time_s: time [s] as the device counted it, shape (T,), never decreasing.
        readings: shape (T, M), float64; NaN where there is no reading (sentinel, nan, ovf, empty field).
        channels: canonical channel names, e.g. "C2H5OH" for any of its spellings.
        units: one per channel, e.g. "counts", "kOhm", "degC", "hPa", "%RH", "m", "25 nS", "unknown".
        sample_rate_Hz: nominal rate, or one over the median time step.
        device: what recorded it, as far as known.
        path: place in the data set, with "/" between folders.
        label: what was in front of the sensors, or None.
        health: one verdict per channel.
        warnings: everything the reader noticed, notes included.
        gases: names of the gases in `exposure_ppm`.
        exposure_ppm: set-point concentrations [ppm] for every row, shape (T, G), where the rig knows them.
    """

    time_s: np.ndarray
    readings: np.ndarray
    channels: tuple[str, ...]
    units: tuple[str, ...]
    sample_rate_Hz: float
    device: str
    path: str
    label: Mixture | None
    health: tuple[ChannelHealth, ...]
    warnings: tuple[Finding, ...] = ()
    gases: tuple[str, ...] = ()
    exposure_ppm: np.ndarray | None = None

    def __post_init__(self) -> None:
        T, M = self.readings.shape
        if self.time_s.shape != (T,) or {len(self.channels), len(self.units), len(self.health)} != {M}:
            raise UnmixError(
                f"{M} channels need {M} names, units and verdicts, and {T} rows need {T} times",
                where=self.path,
            )
        if self.exposure_ppm is not None and self.exposure_ppm.shape != (T, len(self.gases)):
            raise UnmixError(f"exposure has shape {self.exposure_ppm.shape}, expected {(T, len(self.gases))}")
        for array in (self.time_s, self.readings, self.exposure_ppm):
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def duration_s(self) -> float:
        """Time from the first row to the last [s]."""
        return float(self.time_s[-1] - self.time_s[0])

    def column(self, channel: str) -> np.ndarray:
        """Readings of one channel, shape (T,)."""
        if channel not in self.channels:
            raise UnmixError(f"no channel {channel!r}; there are {', '.join(self.channels)}", where=self.path)
        return self.readings[:, self.channels.index(channel)]

    def select(self, channels: Sequence[str]) -> "Recording":
        """The same recording with these channels, in this order."""
        for channel in channels:
            self.column(channel)
        index = [self.channels.index(channel) for channel in channels]
        return replace(
            self,
            readings=self.readings[:, index],
            channels=tuple(channels),
            units=tuple(self.units[i] for i in index),
            health=tuple(self.health[i] for i in index),
        )

    def found(self, code: Code) -> tuple[Finding, ...]:
        """All findings with this code."""
        return tuple(finding for finding in self.warnings if finding.code is code)

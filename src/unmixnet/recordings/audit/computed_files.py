"""Files that were computed, not measured: their signs, and the recording each was made from."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmixnet.recordings.audit.copies import (
    SUSPECT_CORRELATION,
    UNSUSPECTED_CORRELATION,
    Match,
    later_of_pairs,
    matches,
)
from unmixnet.recordings.audit.file_names import id_of
from unmixnet.recordings.audit.files import AuditedFile
from unmixnet.recordings.audit.report import FileVerdict, Kind

__all__ = [
    "Progress",
    "decimals",
    "is_white_noise",
    "lag1_autocorrelation",
    "off_grid_channels",
    "tie_to_parents",
    "usual_decimals",
]

MAX_DECIMALS = 6


def lag1_autocorrelation(readings: np.ndarray) -> np.ndarray:
    """Correlation of each channel with itself one sample later, shape (M,); NaN where nothing changes."""
    count = np.maximum(np.sum(np.isfinite(readings), axis=0), 1)
    centred = np.nan_to_num(readings - np.nansum(readings, axis=0) / count)
    power = np.sum(centred**2, axis=0)
    product = np.sum(centred[1:] * centred[:-1], axis=0)
    return np.divide(product, power, out=np.full(power.shape, np.nan), where=power > 0)


def is_white_noise(readings: np.ndarray, *, standard_errors: float = 4.0) -> bool:
    """Whether no channel is correlated with its previous sample: every r₁ is within 4/√T of zero.

    White noise of length T has r₁ = 0 ± 1/√T. A metal-oxide sensor has a time constant of seconds, so at the
    usual 1 to 100 Hz even a quiet, coarsely quantised recording has a channel with r₁ well above that. At
    least two channels must vary: a single one proves little.
    """
    if len(readings) < 50:
        return False
    r1 = lag1_autocorrelation(readings)
    r1 = r1[np.isfinite(r1)]
    return len(r1) >= 2 and bool(np.all(np.abs(r1) < standard_errors / np.sqrt(len(readings))))


def decimals(readings: np.ndarray) -> tuple[int, ...]:
    """Decimal places that each channel uses, up to 6."""
    count = np.zeros(readings.shape[1], dtype=int)
    for place in range(MAX_DECIMALS):
        scaled = readings * 10.0**place
        off = np.any(np.abs(scaled - np.round(scaled)) > 1e-6 * np.maximum(np.abs(scaled), 1), axis=0)
        count[off] = place + 1
    return tuple(int(n) for n in count)


def usual_decimals(places: Sequence[tuple[int, ...]], *, majority: float = 0.5) -> tuple[int | None, ...]:
    """Decimal places that most recordings of an array use, for each channel; None where there is no majority.

    The smallest number that a majority does not exceed: a converter with two decimals also writes 25.5.
    """
    table = np.asarray(places)
    usual: list[int | None] = []
    for column in table.T:
        limit = next(n for n in range(MAX_DECIMALS + 1) if np.mean(column <= n) > majority)
        usual.append(limit if limit < MAX_DECIMALS else None)
    return tuple(usual)


def off_grid_channels(
    places: tuple[int, ...], usual: tuple[int | None, ...], channels: Sequence[str]
) -> Mapping[str, int]:
    """Channels that use more decimals than the array's converter writes, with how many they use."""
    pairs = zip(channels, places, usual, strict=True)
    return {name: used for name, used, limit in pairs if limit is not None and used > limit}


Progress = Callable[[str, int], Callable[[], None]]
"""Called with the name and length of a stage; what it returns is called after each step."""


def tie_to_parents(
    recordings: Sequence[AuditedFile], verdicts: tuple[FileVerdict, ...], progress: Progress
) -> tuple[FileVerdict, ...]:
    """Name the parent of every computed file, and find copies among files that raised no suspicion."""
    pairs = list(zip(recordings, verdicts, strict=True))
    order = {item.file: i for i, item in enumerate(recordings)}
    unique = [(item, verdict) for item, verdict in pairs if verdict.copy_of is None]
    tick = progress("Comparing recordings", sum(v.kind is not Kind.WHITE_NOISE for _, v in unique))
    ties: dict[str, Match] = {}
    for group in _by_array(unique):
        real = [item for item, verdict in group if verdict.kind is Kind.REAL]
        suspects = [item for item, verdict in group if verdict.kind is Kind.SUSPECT]
        tied = matches(suspects, real, tick=tick)
        ties |= {file: match for file, match in tied.items() if match.correlation >= SUSPECT_CORRELATION}
        alike = matches(real, real, tick=tick)
        alike = {file: match for file, match in alike.items() if match.correlation >= UNSUSPECTED_CORRELATION}
        ties |= later_of_pairs(alike, order)
    noise_parent = _noise_parents(unique)
    settled = {verdict.file: _settle(item, verdict, ties, noise_parent) for item, verdict in unique}
    return tuple(settled.get(verdict.file) or _as_original(verdict, settled) for verdict in verdicts)


def _settle(
    item: AuditedFile, verdict: FileVerdict, ties: Mapping[str, Match], noise_parent: Mapping[str, str]
) -> FileVerdict:
    if verdict.kind is Kind.WHITE_NOISE:
        return replace(verdict, parent=noise_parent.get(verdict.file))
    match = ties.get(verdict.file)
    if match is None:
        return verdict
    return replace(
        verdict,
        kind=Kind.ALTERED_COPY,
        signs=(*verdict.signs, "its changes follow those of the parent"),
        parent=match.file,
        correlation=round(match.correlation, 3),
        lag_s=round(match.lag_rows / item.recording.sample_rate_Hz, 3),
    )


def _as_original(verdict: FileVerdict, settled: Mapping[str, FileVerdict]) -> FileVerdict:
    """A byte copy is whatever its original is."""
    assert verdict.copy_of is not None
    original = settled[verdict.copy_of]
    return replace(
        verdict,
        kind=original.kind,
        signs=original.signs,
        parent=original.parent,
        correlation=original.correlation,
        lag_s=original.lag_s,
    )


def _noise_parents(unique: Sequence[tuple[AuditedFile, FileVerdict]]) -> dict[str, str]:
    """The recording around which white noise was drawn: the one with the same id.

    Where the id is not a time, the recording with the nearest mean level, if that is within the noise.
    """
    real = [item for item, verdict in unique if verdict.kind is Kind.REAL]
    by_id = {identity: item.file for item in real if (identity := id_of(item.file)) is not None}
    parents: dict[str, str] = {}
    for item, verdict in unique:
        if verdict.kind is not Kind.WHITE_NOISE:
            continue
        timed = verdict.time_h is not None
        parent = by_id.get(id_of(item.file) or "") if timed else _nearest_level(item, real)
        if parent is not None:
            parents[item.file] = parent
    return parents


def _nearest_level(item: AuditedFile, real: Sequence[AuditedFile]) -> str | None:
    same = [other for other in real if other.recording.channels == item.recording.channels]
    if not same:
        return None
    spread = np.maximum(np.nanstd(item.recording.readings, axis=0), 1e-9)
    distance = [np.max(np.abs(other.level - item.level) / spread) for other in same]
    best = int(np.argmin(distance))
    return same[best].file if distance[best] < 0.5 else None


def _by_array(pairs: Sequence[tuple[AuditedFile, FileVerdict]]) -> list[list[tuple[AuditedFile, FileVerdict]]]:
    groups: dict[tuple[str, ...], list[tuple[AuditedFile, FileVerdict]]] = defaultdict(list)
    for item, verdict in pairs:
        groups[item.recording.channels].append((item, verdict))
    return list(groups.values())

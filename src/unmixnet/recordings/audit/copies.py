"""Copies: files with the same bytes, and recordings whose every little change follows another's.

Two recordings of the same odour have similar curves, so curves prove nothing. Their *sample-to-sample
changes* are noise, which is as good as a fingerprint: scaled, offset, shifted in time (also around the end)
or jittered, a copy still correlates with its parent there, while two real recordings do not.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmixnet.recordings.audit.files import AuditedFile

__all__ = ["Match", "best_match", "byte_copies", "change_spectrum", "later_of_pairs", "matches"]

SUSPECT_CORRELATION = 0.2
"""Enough to name the parent of a file that is already known to be computed."""
UNSUSPECTED_CORRELATION = 0.45
"""Enough to call an otherwise unsuspected file a copy; real recordings stay under 0.35."""
_CANDIDATES = 800
_FEWEST_CHANGES = 10


@dataclass(frozen=True)
class Match:
    """The recording that a file follows best, the correlation of their changes, and the shift between."""

    file: str
    correlation: float
    lag_rows: int


def byte_copies(recordings: Sequence[AuditedFile]) -> dict[str, str]:
    """For every file whose bytes occurred before: the first file with them.

    Names such as `x (1).csv` are taken last, so that the plain name counts as the original.
    """
    first: dict[str, str] = {}
    copies: dict[str, str] = {}
    for item in sorted(recordings, key=lambda item: (_is_numbered(item.file), item.file)):
        original = first.setdefault(item.digest, item.file)
        if original != item.file:
            copies[item.file] = original
    return copies


def change_spectrum(readings: np.ndarray, size: int) -> np.ndarray:
    """Spectrum of the changes of each channel, scaled to unit norm, shape (size/2 + 1, M).

    A channel that changes fewer than ten times proves nothing and is zero.
    """
    change = np.nan_to_num(np.diff(readings, axis=0))
    live = np.count_nonzero(change, axis=0) >= _FEWEST_CHANGES
    change = change - change.mean(axis=0)
    norm = np.linalg.norm(change, axis=0)
    unit = np.where(live, change / np.where(norm > 0, norm, 1), 0)
    return np.fft.rfft(unit, size, axis=0).astype(np.complex64)


def best_match(child: np.ndarray, parents: np.ndarray, rows: int) -> tuple[int, float, int]:
    """Index, correlation and lag of the parent spectrum that a child spectrum follows best.

    Correlations are averaged over the channels in which the child changes. A shift around the end splits
    the agreement between the lags l and l − rows; their sum counts.
    """
    size = 2 * (parents.shape[1] - 1)
    live = max(int(np.any(child != 0, axis=0).sum()), 1)
    product = np.einsum("pfm,fm->pf", parents, child.conj() / live)
    by_lag = np.fft.irfft(product, size, axis=1)
    folded = by_lag + np.roll(by_lag, rows, axis=1)
    parent, lag = (int(i) for i in np.unravel_index(int(folded.argmax()), folded.shape))
    stronger = max(lag, lag - rows, key=lambda at: by_lag[parent, at % size]) % size
    return parent, float(folded[parent, lag]), stronger if stronger < size // 2 else stronger - size


def matches(
    children: Sequence[AuditedFile],
    parents: Sequence[AuditedFile],
    *,
    tick: Callable[[], None] = lambda: None,
) -> dict[str, Match]:
    """For each child, the parent whose changes it follows best; a file is never its own parent.

    Beyond 800 parents only the 800 nearest in mean level are tried.
    """
    if not children or not parents:
        return {}
    size = _spectrum_size([*children, *parents])
    spectra = np.stack([change_spectrum(item.recording.readings, size) for item in parents])
    level = np.stack([item.level for item in parents])
    scale = np.maximum(level.std(axis=0), 1e-9)
    place = {item.file: i for i, item in enumerate(parents)}
    matches: dict[str, Match] = {}
    for child in children:
        near = np.argsort(np.linalg.norm((level - child.level) / scale, axis=1), kind="stable")
        near = near[near != place.get(child.file, -1)][:_CANDIDATES]
        if len(near):
            own = change_spectrum(child.recording.readings, size)
            i, correlation, lag = best_match(own, spectra[near], len(child.recording))
            matches[child.file] = Match(parents[near[i]].file, correlation, lag)
        tick()
    return matches


def later_of_pairs(matches: Mapping[str, Match], order: Mapping[str, int]) -> dict[str, Match]:
    """Of two files that follow each other, keep the later one as the copy."""
    return {file: match for file, match in matches.items() if order[match.file] < order[file]}


def _is_numbered(file: str) -> bool:
    return re.search(r" \(\d+\)\.\w+$", file) is not None


def _spectrum_size(recordings: Sequence[AuditedFile]) -> int:
    longest = max(len(item.recording) for item in recordings)
    return 1 << int(np.ceil(np.log2(2 * longest)))

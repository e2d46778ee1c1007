"""The time of every row: from a column, with counter overflow undone, or from a sample rate."""

from dataclasses import dataclass

import numpy as np

from unmixnet.recordings.codes import Code, ReadError
from unmixnet.recordings.recording import Finding

__all__ = ["TICKS_PER_S", "Timebase", "from_column", "from_rate"]

TICKS_PER_S = {"s": 1.0, "ms": 1e3, "us": 1e6, "min": 1 / 60.0}
"""How many of a unit make one second."""

_COUNTER = 2.0**32
_GAP = 5.0


@dataclass(frozen=True)
class Timebase:
    """Time of every row [s], nominal rate [Hz], and what was odd about it."""

    time_s: np.ndarray
    sample_rate_Hz: float
    findings: tuple[Finding, ...] = ()


def from_rate(rows: int, sample_rate_Hz: float | None) -> Timebase:
    """Evenly spaced rows; without a rate 1 Hz is assumed, with a finding."""
    if sample_rate_Hz is not None:
        return Timebase(np.arange(rows) / sample_rate_Hz, sample_rate_Hz)
    message = "no time column and no rate: 1 Hz was assumed; state rate_Hz in a sidecar file"
    return Timebase(np.arange(rows, dtype=float), 1.0, (Finding(Code.RATE_ASSUMED, message),))


def from_column(ticks: np.ndarray, unit: str, *, file: str, column: int, lines: np.ndarray) -> Timebase:
    """Time from a column of device ticks.

    Arguments:
        ticks: the column as read, shape (T,).
        unit: "s", "ms", "us" or "min"; counters of ms and us are taken to overflow at 2**32.
        file, column, lines: where the column stands, for messages; `lines[t]` is the line of row t.
    """
    where = _Place(file, column, lines)
    absent = np.flatnonzero(~np.isfinite(ticks))
    if len(absent):
        raise where.refused(Code.TIME_UNREADABLE, int(absent[0]), "no time", "a number")
    ticks, findings = _unwrapped(ticks, unit, where)
    time_s = ticks / TICKS_PER_S[unit]
    if len(time_s) == 1:
        nominal = from_rate(1, None)
        return Timebase(time_s, nominal.sample_rate_Hz, findings + nominal.findings)
    step = np.diff(time_s)
    usual = float(np.median(step[step > 0])) if np.any(step > 0) else 0.0
    if usual == 0.0:
        raise where.refused(Code.TIME_UNREADABLE, 1, "a time that never advances", "a time that grows")
    return Timebase(time_s, 1.0 / usual, findings + _odd_steps(step, usual, where))


@dataclass(frozen=True)
class _Place:
    """Where a time column stands."""

    file: str
    column: int
    lines: np.ndarray

    def line(self, row: int) -> int:
        return int(self.lines[row])

    def refused(self, code: Code, row: int, seen: str, expected: str) -> ReadError:
        return ReadError(
            code,
            file=self.file,
            line=self.line(row),
            column=self.column,
            seen=seen,
            expected=expected,
            remedy=f"Split the file before line {self.line(row)} if the device restarted there",
        )


def _unwrapped(ticks: np.ndarray, unit: str, where: _Place) -> tuple[np.ndarray, tuple[Finding, ...]]:
    """Ticks that never go back: a 32-bit overflow is continued, any other step back is refused."""
    back = np.flatnonzero(np.diff(ticks) < 0)
    if not len(back):
        return ticks, ()
    wraps = unit in ("ms", "us") and ticks.max() < _COUNTER and ticks.min() >= 0
    for row in back:
        if not wraps or ticks[row] - ticks[row + 1] < _COUNTER / 2:
            seen = f"time {ticks[row + 1]:g} after {ticks[row]:g} {unit}"
            raise where.refused(Code.TIME_BACKWARDS, int(row) + 1, seen, "a time that grows")
    turns = np.zeros(len(ticks))
    turns[back + 1] = 1
    line = where.line(int(back[0]) + 1)
    message = f"the {unit} counter passed 2^32 at line {line}; time was continued"
    return ticks + np.cumsum(turns) * _COUNTER, (
        Finding(Code.MILLIS_WRAP, message, line, where.column, count=len(back)),
    )


def _odd_steps(step: np.ndarray, usual: float, where: _Place) -> tuple[Finding, ...]:
    """Findings about rows that share a time, and about gaps."""
    findings: tuple[Finding, ...] = ()
    same = np.flatnonzero(step == 0)
    if len(same):
        line = where.line(int(same[0]) + 1)
        message = f"{len(same)} rows repeat the time of the row before, the first in line {line}"
        findings += (Finding(Code.TIME_REPEATS, message, line, where.column, count=len(same)),)
    gaps = np.flatnonzero(step > _GAP * usual)
    if len(gaps):
        line = where.line(int(gaps[0]) + 1)
        message = (
            f"{len(gaps)} steps in time are too long, the first before line {line}, the longest "
            f"{step.max():.6g} s where {usual:.6g} s is usual"
        )
        findings += (Finding(Code.TIME_GAP, message, line, where.column, count=len(gaps)),)
    return findings

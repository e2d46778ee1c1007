r"""From blocks of rows to windows, as `unmixnet unmix` cuts them, however long the recording and wherever blocks end.

A window starts every `stride` samples of the model's rate. Sample j of a run of rows at rate r, with b = r/target, is

    mean of rows j·n … j·n + n − 1    if b is near a whole number n
    the line between rows at j·b      else

Only the rows that a later window needs are kept. Where time jumps (back, or by more than five usual steps) a new run
begins: no window spans the jump. The baseline is that of the recording's beginning. All windows are answered, also
those beyond `first_rows`, which training may have been limited to.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.archive.blocks import RowBlock
from unmixnet.inference.archive.inputs import ErrorRow, error_row
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.recordings.preprocessing import BaselineMethod, Preprocessing, early_level
from unmixnet.recordings.recording import Recording
from unmixnet.recordings.temporal import rows_per_sample
from unmixnet.recordings.trace import without_gaps

__all__ = ["Window", "windows_of"]

_GAP = 5.0
_MOST_JUMPS = 100
"""Jumps of a file that are listed one by one."""


@dataclass(frozen=True, eq=False)
class Window:
    """A window of the model's signal, and where it comes from."""

    file: str
    recording: str
    start_s: float
    end_s: float
    signal: np.ndarray


@dataclass(eq=False)
class _Stretch:
    """Rows without a jump: those that are still needed, and how far windows have come."""

    rate_Hz: float
    signal: np.ndarray
    time_s: np.ndarray
    first: int = 0
    """Index in the run of the first row that is kept."""
    sample: int = 0
    """First sample of the next window."""

    def add(self, signal: np.ndarray, time_s: np.ndarray) -> None:
        self.signal = np.concatenate([self.signal, signal])
        self.time_s = np.concatenate([self.time_s, time_s])

    def drop(self, rows: int) -> None:
        rows = min(max(rows, 0), len(self.signal))
        self.signal, self.time_s, self.first = self.signal[rows:], self.time_s[rows:], self.first + rows


def windows_of(bundle: Bundle, place: str, blocks: Iterable[RowBlock | ErrorRow]) -> Iterator[Window | ErrorRow]:
    """Windows of a file, and error rows for what could not be answered, in order."""
    _check(bundle.preprocessing)
    cutter: _Cutter | None = None
    jumps = 0
    for block in blocks:
        if isinstance(block, ErrorRow):
            yield block
            if cutter is not None:
                cutter.run, cutter.reported = None, True
            continue
        if cutter is None or block.name != cutter.name:
            yield from () if cutter is None else cutter.end()
            cutter = _Cutter(bundle, place, block)
        for item in cutter.feed(block):
            jumps += isinstance(item, ErrorRow) and item.kind == "jump"
            if isinstance(item, Window) or item.kind == "refused" or jumps <= _MOST_JUMPS:
                yield item
    yield from () if cutter is None else cutter.end()
    if jumps > _MOST_JUMPS:
        yield ErrorRow(place, None, "jump", f"time jumps {jumps} times; the first {_MOST_JUMPS} are listed")


class _Cutter:
    """Cuts one recording, given block by block."""

    def __init__(self, bundle: Bundle, place: str, first: RowBlock) -> None:
        self.bundle, self.place, self.name, self.line = bundle, place, first.name, first.line
        self.ready: Preprocessing | None = None
        self.run: _Stretch | None = None
        self.reported, self.longest_s = False, 0.0

    def feed(self, block: RowBlock) -> Iterator[Window | ErrorRow]:
        """Windows that these rows complete."""
        try:
            whole, _ = without_gaps(block.rows)
            self.ready = self.ready or _at_start(self.bundle.preprocessing, whole)
            signal = self.ready.signal(whole)
        except UnmixError as error:
            self.run, self.reported = None, True
            yield error_row(self.place, error, block.line)
            return
        for start, stop, jump in _runs(whole.time_s, self.run):
            if jump:
                yield _jump(self.place, block, start, self.run)
                self.run = None
            self.run = self.run or _Stretch(whole.sample_rate_Hz, signal[:0], whole.time_s[:0])
            self.run.add(signal[start:stop], whole.time_s[start:stop])
            for window in _ready(self.bundle, self.place, self.name, self.run):
                self.reported = True
                yield window
            rows = self.run.first + len(self.run.signal)
            self.longest_s = max(self.longest_s, rows / self.run.rate_Hz)

    def end(self) -> Iterator[ErrorRow]:
        """Error row of a recording that was too short for a window, unless it has one already."""
        if not self.reported:
            needed = self.bundle.spec.window / self.bundle.spec.rate_Hz
            which = f"the recording {self.name!r}" if self.name else "the recording"
            problem = f"{which} has {self.longest_s:.3g} s without a jump, the model needs at least {needed:.3g} s"
            yield error_row(self.place, UnmixError(problem, remedy=f"Record for {needed:.3g} s or longer"), self.line)


def _check(ready: Preprocessing) -> None:
    if ready.lags or ready.low_pass_Hz is not None or ready.high_pass_Hz is not None:
        raise ConfigError(
            "the bundle filters or differences whole recordings, but archives are read in blocks",
            remedy="Use a bundle without filters, or `unmixnet unmix`",
        )


def _at_start(ready: Preprocessing, rows: Recording) -> Preprocessing:
    """The preprocessing for the rest of a recording that begins with these rows."""
    ready = replace(ready, first_rows=None)
    if ready.baseline is not BaselineMethod.RECORDING:
        return ready
    level = early_level(rows.time_s, rows.readings, ready.baseline_s)
    return replace(ready, baseline=BaselineMethod.REFERENCE, reference={rows.device: tuple(level.tolist())})


def _runs(time_s: np.ndarray, run: _Stretch | None) -> Iterator[tuple[int, int, bool]]:
    """First row, end, and whether time jumped before it, of every stretch of a block."""
    step = np.diff(time_s)
    known = 1 / run.rate_Hz if run is not None else 0.0
    usual = known or (float(np.median(step[step > 0])) if np.any(step > 0) else 0.0)
    before = time_s[0] - run.time_s[-1] if run is not None and len(run.time_s) else usual
    odd = np.concatenate([[before], step])
    edges = np.flatnonzero((odd < 0) | (odd > _GAP * usual)).tolist() if usual else []
    starts = edges if edges and edges[0] == 0 else [0, *edges]
    for start, stop in zip(starts, [*starts[1:], len(time_s)], strict=True):
        yield start, stop, start in edges


def _jump(place: str, block: RowBlock, row: int, run: _Stretch | None) -> ErrorRow:
    time_s = block.rows.time_s
    before = time_s[row - 1] if row else run.time_s[-1] if run is not None and len(run.time_s) else time_s[row]
    by = time_s[row] - before
    jump = f"time jumps {'back' if by < 0 else 'on'} by {abs(by):.6g} s, to {time_s[row]:.6g} s"
    return ErrorRow(place, block.line + row, "jump", f"{jump}; no window spans it")


def _ready(bundle: Bundle, place: str, name: str, run: _Stretch) -> Iterator[Window]:
    """Every window that the rows suffice for; rows that no later window needs are dropped."""
    size, stride, target = bundle.spec.window, bundle.spec.stride, bundle.spec.rate_Hz
    b, whole = rows_per_sample(run.rate_Hz, target)
    total = run.first + len(run.signal)
    available = total // int(b) if whole else int((total - 1) / b) + 1 if b < 1 else int(total / b)
    count = max((available - size - run.sample) // stride + 1, 0)
    if count:
        last = run.sample + (count - 1) * stride + size
        signal = _samples(run, run.sample, last, b, whole)
        for k in range(count):
            cut = signal[k * stride : k * stride + size]
            first = run.sample + k * stride
            ends = (np.floor(first * b), min(np.ceil((first + size) * b), total) - 1)
            start_s, end_s = (float(run.time_s[int(row) - run.first]) for row in ends)
            yield Window(place, name, start_s, end_s, cut)
        run.sample += count * stride
    run.drop(int(np.floor(run.sample * b)) - 1 - run.first)


def _samples(run: _Stretch, start: int, stop: int, b: float, whole: bool) -> np.ndarray:
    """Samples start … stop − 1 of a run, float32."""
    if whole:
        n = int(b)
        rows = run.signal[start * n - run.first : stop * n - run.first]
        return rows.reshape(stop - start, n, -1).mean(axis=1).astype(np.float32)
    place, rows = np.arange(start, stop) * b - run.first, np.arange(len(run.signal))
    return np.stack([np.interp(place, rows, column) for column in run.signal.T], axis=1).astype(np.float32)

"""A Parquet cache of the UCI 322 text: views at 10 Hz and 1 Hz, streamed in bounded memory.

A row of a view is the mean of the readings of one interval, stamped with the end of the interval, together
with the concentrations that were set at its end: nothing in it is later than its time stamp.
"""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from unmixnet.files.replacement import replacing
from unmixnet.recordings.codes import Code
from unmixnet.recordings.formats.uci_recording import read_uci_parquet
from unmixnet.recordings.formats.uci_text import SENSORS, UciBlock, UciStream
from unmixnet.recordings.recording import Finding, Recording

__all__ = ["VIEWS_HZ", "Downsampler", "cache_folder", "open_view"]

VIEWS_HZ = (10, 1)
_VERSION = 2
_ROUNDING = 1e-6
_ROW_GROUP = 1 << 16


def cache_folder() -> Path:
    """`UNMIXNET_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("UNMIXNET_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unmixnet"


def open_view(
    text: Path,
    rate_Hz: int,
    *,
    folder: Path | None = None,
    place: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Recording:
    """A view of a UCI text file; the views are made when they are absent or older than the text.

    Arguments:
        text: the original file.
        rate_Hz: 10 or 1.
        folder: where the cache lies; None for `cache_folder()`.
        place: what to store as the path of the recording; None stores `text`.
        progress: called with the bytes of text read since the last call, while the views are made.
    """
    folder = folder or cache_folder()
    view = _view(text, rate_Hz, folder)
    findings = _stored_findings(view, text)
    if findings is None:
        _make_views(text, folder, progress)
        findings = _stored_findings(view, text) or ()
    recording = read_uci_parquet(view, place if place is not None else text.as_posix())
    return replace(recording, warnings=findings + recording.warnings, sample_rate_Hz=float(rate_Hz))


@dataclass
class Downsampler:
    """Means over intervals of a stream of rows; rows of an unfinished interval wait for the next block."""

    rate_Hz: float
    waiting: UciBlock | None = None

    def push(self, block: UciBlock) -> UciBlock:
        """Take rows and give the intervals that they complete."""
        rows = block if self.waiting is None else _joined(self.waiting, block)
        interval = self._interval(rows.time_s)
        split = int(np.searchsorted(interval, interval[-1])) if len(interval) else 0
        self.waiting = _rows(rows, slice(split, None))
        return self._means(_rows(rows, slice(0, split)))

    def flush(self) -> UciBlock | None:
        """Give the last interval, which nothing completes any more."""
        return None if self.waiting is None else self._means(self.waiting)

    def _interval(self, time_s: np.ndarray) -> np.ndarray:
        return np.floor(time_s * self.rate_Hz + _ROUNDING).astype(np.int64)

    def _means(self, rows: UciBlock) -> UciBlock:
        if not len(rows.time_s):
            return rows
        interval = self._interval(rows.time_s)
        starts = np.flatnonzero(np.diff(interval, prepend=interval[0] - 1))
        ends = np.append(starts[1:], len(interval)) - 1
        present = np.isfinite(rows.readings)
        total = np.add.reduceat(np.where(present, rows.readings, 0.0), starts, axis=0)
        count = np.add.reduceat(present, starts, axis=0, dtype=np.int64)
        mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
        return UciBlock((interval[starts] + 1) / self.rate_Hz, rows.exposure_ppm[ends], mean)


def _joined(first: UciBlock, second: UciBlock) -> UciBlock:
    return UciBlock(
        np.concatenate([first.time_s, second.time_s]),
        np.concatenate([first.exposure_ppm, second.exposure_ppm]),
        np.concatenate([first.readings, second.readings]),
    )


def _rows(block: UciBlock, span: slice) -> UciBlock:
    return UciBlock(block.time_s[span], block.exposure_ppm[span], block.readings[span])


def _view(text: Path, rate_Hz: int, folder: Path) -> Path:
    """The file of a view; its name tells apart two texts of the same name in different folders."""
    import hashlib

    digest = hashlib.sha256(str(text.resolve()).encode()).hexdigest()[:8]
    return folder / "uci322" / f"{text.stem}.{digest}.{rate_Hz}hz.parquet"


def _fingerprint(text: Path) -> dict[str, int]:
    stat = text.stat()
    return {"version": _VERSION, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _stored_findings(view: Path, text: Path) -> tuple[Finding, ...] | None:
    """Findings stored with a view, or None if the view is absent, broken, or not of this text."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        stored = json.loads(parquet.read_metadata(view).metadata[b"unmixnet"])
        if stored["source"] != _fingerprint(text):
            return None
        return tuple(Finding(**{**entry, "code": Code(entry["code"])}) for entry in stored["findings"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def _make_views(text: Path, folder: Path, progress: Callable[[int], None] | None) -> None:
    """Stream the text once into all views; a view appears under its name only when it is complete."""
    stream = UciStream(text)
    source = _fingerprint(text)
    reported = 0
    with ExitStack() as stack:
        writers: list[_ViewWriter] = []
        for block in stream:
            if not writers:
                parts = [stack.enter_context(replacing(_view(text, rate, folder))) for rate in VIEWS_HZ]
                pairs = zip(parts, VIEWS_HZ, strict=True)
                writers = [stack.enter_context(_ViewWriter(part, rate, stream.gases)) for part, rate in pairs]
            for writer in writers:
                writer.write(block)
            if progress:
                progress(stream.bytes_read - reported)
                reported = stream.bytes_read
        stored = {"source": source, "findings": [asdict(finding) for finding in stream.findings()]}
        for writer in writers:
            writer.finish(json.dumps(stored))


class _ViewWriter:
    """Writes one view to a file; a context manager that closes it."""

    def __init__(self, path: Path, rate_Hz: int, gases: tuple[str, ...]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        names = ["time_s", *(f"{gas}_ppm" for gas in gases), *SENSORS]
        self._schema = pa.schema([(name, pa.float64()) for name in names])
        self._writer = parquet.ParquetWriter(path, self._schema, compression="lz4", use_dictionary=False)
        self._sampler = Downsampler(rate_Hz)
        self._held: list[np.ndarray] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, block: UciBlock) -> None:
        self._put(self._sampler.push(block))

    def finish(self, stored: str) -> None:
        last = self._sampler.flush()
        if last is not None:
            self._put(last)
        self._write_held()
        self._writer.add_key_value_metadata({"unmixnet": stored})

    def _put(self, rows: UciBlock) -> None:
        """Hold rows until they fill a row group: many small groups would open slowly."""
        self._held.append(np.column_stack([rows.time_s, rows.exposure_ppm, rows.readings]))
        if sum(map(len, self._held)) >= _ROW_GROUP:
            self._write_held()

    def _write_held(self) -> None:
        import pyarrow as pa

        if self._held:
            columns = np.concatenate(self._held).T
            self._writer.write_table(pa.table([*columns], schema=self._schema))
            self._held.clear()

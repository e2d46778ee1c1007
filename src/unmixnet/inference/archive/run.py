"""Unmix an archive: exactly once, whatever happens on the way.

    IN/ ─ hash ─ pack ─→ workers write hidden parts ─→ rename ─→ one transaction of the manifest

A run that is killed leaves parts that the manifest does not name; the next one removes them and goes on. Changed
files are recognised by their hashes, not by their times.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unmixnet.errors import UnmixError
from unmixnet.files.replacement import move_into_place, replacing
from unmixnet.inference.archive.inputs import Input, Unit, inputs_of, units_of
from unmixnet.inference.archive.manifest import ArchiveManifest, Totals
from unmixnet.inference.archive.task import ArchiveJob, UnitResult, answer_unit, write_errors
from unmixnet.inference.archive.workers import Local, Place, spread
from unmixnet.inference.bundle import Bundle
from unmixnet.inference.unmix import solver_of

__all__ = ["ERRORS", "PARTS", "Report", "unmix_archive"]

PARTS, ERRORS = "windows", "errors.parquet"
_ERRORS_AT_ONCE = 4096


@dataclass(frozen=True)
class Report:
    """What a run did and what the folder holds now.

    Arguments:
        known: files that were answered before.
        fresh: files and windows of this run.
        seconds: of this run.
    """

    totals: Totals
    known: int
    fresh: int
    fresh_windows: int
    seconds: float


def unmix_archive(
    archive: Path,
    out: Path,
    bundle: Bundle,
    model: Path,
    *,
    place: Place | None = None,
    watch: Callable[[Unit, UnitResult], None] = lambda unit, done: None,
) -> Report:
    """Answer every window of every file that is not answered yet.

    Arguments:
        archive: folder of recordings or Parquet files.
        out: gets `windows/part-….parquet`, `errors.parquet` and the manifest.
        model: folder of the bundle, which workers load.
        place: where to run; in this process, if not given.
        watch: called after every task.
    """
    solver_of(bundle)
    began = time.monotonic()
    with write_errors(out):
        (out / PARTS).mkdir(parents=True, exist_ok=True)
    manifest = ArchiveManifest.open(out, bundle.name, bundle.digest)
    try:
        _tidy(manifest)
        run = _ArchiveWriter(manifest, out)
        # absolute: a worker of a cluster has another working folder
        job = ArchiveJob(str(model.resolve()), bundle.digest, str((out / PARTS).resolve()))
        tasks = units_of(run.todo(inputs_of(archive, without=out)))
        try:
            for unit, done in spread(partial(answer_unit, job=job), tasks, place or Local()):
                run.commit(unit, done)
                watch(unit, done)
            manifest.leave_gone()
        finally:
            with suppress(OSError, UnmixError):  # the error that is being raised matters more
                _write_errors(manifest)
        _tidy(manifest)
        return Report(manifest.totals(), run.known, run.fresh, run.windows, time.monotonic() - began)
    finally:
        manifest.close()


class _ArchiveWriter:
    """Counts of a run, and the only writer of the manifest."""

    def __init__(self, manifest: ArchiveManifest, out: Path) -> None:
        self.manifest, self.parts = manifest, out / PARTS
        self.known = self.fresh = self.windows = 0

    def todo(self, inputs: Iterator[Input]) -> Iterator[Input]:
        """Files that are new or whose content has changed; answers of the old content are removed first."""
        for file in inputs:
            file = Input(file.place, str(Path(file.path).resolve()), file.sha256, file.size)
            if self.manifest.holds(file):
                self.known += 1
                continue
            if (part := self.manifest.part_of(file.place)) is not None:
                self._forget(file.place, part)
            yield file

    def commit(self, unit: Unit, done: UnitResult) -> None:
        """Rename a finished part, then record it in the manifest."""
        name = unit.name if done.written else ""
        if name:
            with write_errors(self.parts):
                move_into_place(self.parts / done.written, self.parts / name)
        self.manifest.add(unit, name, done)
        self.fresh += len(unit.inputs)
        self.windows += sum(done.windows)

    def _forget(self, place: str, part: str) -> None:
        new, windows = "", 0
        if part:
            new, windows = _without(self.parts, part, place)
        self.manifest.forget(place, part, new, windows)
        if part:
            (self.parts / part).unlink(missing_ok=True)


def _without(folder: Path, part: str, place: str) -> tuple[str, int]:
    """Write a part again without the rows of a file; gives its new name ("" if nothing is left) and its rows."""
    import hashlib

    import pyarrow.compute as pc
    from pyarrow import parquet

    with write_errors(folder), parquet.ParquetFile(folder / part) as old:
        name = f"part-{hashlib.sha256(f'{part} without {place}'.encode()).hexdigest()[:24]}.parquet"
        hidden, rows = folder / f".{name}.new", 0
        with parquet.ParquetWriter(hidden, old.schema_arrow, compression="zstd") as new:
            for group in range(old.num_row_groups):
                table = old.read_row_group(group)
                table = table.filter(pc.not_equal(table["file"], place))  # pyright: ignore[reportAttributeAccessIssue]
                rows += table.num_rows
                if table.num_rows:
                    new.write_table(table)
        if not rows:
            hidden.unlink()
            return "", 0
        move_into_place(hidden, folder / name)
        return name, rows


def _tidy(manifest: ArchiveManifest) -> None:
    """Make folder and manifest agree: remove parts that it does not name, and forget files whose part is missing."""
    folder = manifest.folder / PARTS
    with write_errors(folder):
        for entry in os.scandir(folder):
            if not manifest.has_part(entry.name) and entry.name.lstrip(".").startswith("part-"):
                os.unlink(entry.path)
    for name in manifest.parts():
        if not (folder / name).is_file():
            manifest.lose(name)


def _write_errors(manifest: ArchiveManifest) -> None:
    """The errors table, complete or not at all."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"file": pa.string(), "line": pa.int64(), "kind": pa.string(), "reason": pa.string()}
    schema = pa.schema(list(kinds.items()))
    with replacing(manifest.folder / ERRORS) as part, parquet.ParquetWriter(part, schema) as file:
        rows: list[dict] = []
        for error in manifest.errors():
            rows.append(vars(error))
            if len(rows) == _ERRORS_AT_ONCE:
                file.write_table(pa.Table.from_pylist(rows, schema))
                rows = []
        file.write_table(pa.Table.from_pylist(rows, schema))

"""The work of a task: answer the windows of some files and write them into one part, hidden until it is complete."""

import errno
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unmixnet.errors import UnmixError
from unmixnet.inference.archive.blocks import blocks_of
from unmixnet.inference.archive.inputs import ErrorRow, Unit
from unmixnet.inference.archive.windows import Window, windows_of
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import Evidence, evidence_of, run_model
from unmixnet.inference.unmix import solver_of, verdict_of

__all__ = ["BATCH", "Answerer", "ArchiveJob", "UnitResult", "answer_unit", "write_errors"]


class Answerer:
    """A bundle that answers windows; its programs are compiled with the first batch and serve all that follow."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, self.model = bundle, solver_of(bundle)

    @cached_property
    def schema(self) -> Any:
        """Columns of the output; the metadata names the model."""
        import pyarrow as pa

        each = [f"{what}_{name}" for what in ("ratio", "low", "high", "presence") for name in self.bundle.components]
        fields = [pa.field(name, pa.string()) for name in ("file", "recording")]
        fields += [pa.field(name, pa.float64()) for name in ("start_s", "end_s")]
        fields += [pa.field("verdict", pa.string())]
        fields += [pa.field(name, pa.float32()) for name in ("strength", "novelty", *each)]
        return pa.schema(fields, {"model": self.bundle.name, "digest": self.bundle.digest})

    def __call__(self, windows: Sequence[Window]) -> tuple[Any, list[ErrorRow]]:
        """A table with a row for each window, but for those that have no finite answer."""
        import pyarrow as pa

        evidence = self._evidence(np.stack([window.signal for window in windows]))
        sound = [np.all(np.isfinite(each.ratios)) and np.all(np.isfinite(each.embedding)) for each in evidence]
        lost = [_lost(window) for window, good in zip(windows, sound, strict=True) if not good]
        windows = [window for window, good in zip(windows, sound, strict=True) if good]
        evidence = [each for each, good in zip(evidence, sound, strict=True) if good]
        columns = {name: [getattr(window, name) for window in windows] for name in ("file", "recording")}
        columns |= {name: np.array([getattr(w, name) for w in windows], float) for name in ("start_s", "end_s")}
        return pa.table(columns | self._judged(evidence), schema=self.schema), lost

    def _evidence(self, Y: np.ndarray) -> list[Evidence]:
        outputs = run_model(self.model, Y)
        each = [slice(i, i + 1) for i in range(len(Y))]
        return [evidence_of(Y[row], outputs[row], self.bundle.spec) for row in each]

    def _judged(self, evidence: Sequence[Evidence]) -> dict[str, Any]:
        calibration, K = self.bundle.calibration, len(self.bundle.components)
        novelty = calibration.novelty
        shares = calibration.to_shares(np.array([each.ratios[0] for each in evidence]).reshape(-1, K))
        low, high = calibration.intervals.of(shares)
        presence = np.array([np.asarray(each.presence)[0] for each in evidence]).reshape(-1, K)
        strange = [float("nan") if novelty is None else novelty.p_value(novelty.score(each)) for each in evidence]
        columns: dict[str, Any] = {
            "verdict": [verdict_of(self.bundle, each).value for each in evidence],
            "strength": np.array([calibration.background.strength(each) for each in evidence], np.float32),
            "novelty": np.array(strange, np.float32),
        }
        for what, values in (("ratio", shares), ("low", low), ("high", high), ("presence", presence)):
            for k, name in enumerate(self.bundle.components):
                columns[f"{what}_{name}"] = values[:, k].astype(np.float32)
        return columns


@dataclass(frozen=True)
class ArchiveJob:
    """What is the same for every task: the bundle's folder and digest, and where parts are written."""

    model: str
    digest: str
    parts: str


@dataclass(frozen=True)
class UnitResult:
    """A finished part, still under a hidden name.

    Arguments:
        written: its name in the folder of parts; "" if no window was answered.
        windows: answered of each file, in the order of the task's inputs.
    """

    written: str
    windows: tuple[int, ...]
    errors: tuple[ErrorRow, ...]


@lru_cache(maxsize=1)
def _answerer(model: str, digest: str) -> Answerer:
    """One for each process: its programs are compiled once."""
    from unmixnet.inference.bundle import load_bundle

    bundle = load_bundle(model)
    if bundle.digest != digest:
        raise UnmixError(
            f"the bundle is {bundle.digest[:12]}, the run began with {digest[:12]}",
            where=model,
            remedy="Do not change the bundle while an archive is unmixed; name another output folder for a new bundle",
        )
    return Answerer(bundle)


def answer_unit(unit: Unit, job: ArchiveJob) -> UnitResult:
    """Answer every window of some files; windows of several files share batches."""
    answerer = _answerer(job.model, job.digest)
    counts = {file.place: 0 for file in unit.inputs}
    errors: list[ErrorRow] = []
    with write_errors(job.parts), _part(Path(job.parts), unit, answerer) as write:
        for windows in _batches(_windows(answerer, unit, errors)):
            table, lost = answerer(windows)
            errors += lost
            for place in table.column("file").to_pylist():
                counts[place] += 1
            write(table)
        written = write.finish()
    return UnitResult(written, tuple(counts.values()), tuple(errors))


def _windows(answerer: Answerer, unit: Unit, errors: list[ErrorRow]) -> Iterator[Window]:
    """Windows of all files; error rows are appended to `errors`."""
    bundle = answerer.bundle
    for file in unit.inputs:
        blocks = blocks_of(Path(file.path), file.place, bundle.preprocessing.channels)
        for item in windows_of(bundle, file.place, blocks):
            if isinstance(item, ErrorRow):
                errors.append(item)
            else:
                yield item


def _batches(windows: Iterator[Window]) -> Iterator[list[Window]]:
    batch: list[Window] = []
    for window in windows:
        batch.append(window)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class _Writer:
    """Appends tables to a Parquet file that is made with the first of them."""

    def __init__(self, path: Path, answerer: Answerer) -> None:
        self.path, self.answerer, self.file = path, answerer, None

    def __call__(self, table) -> None:
        from pyarrow import parquet

        if table.num_rows:
            self.file = self.file or parquet.ParquetWriter(self.path, self.answerer.schema, compression="zstd")
            self.file.write_table(table)

    def finish(self) -> str:
        """Close the file, wait until it is on the disk, and give its name."""
        if self.file is None:
            return ""
        self.file.close()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        return self.path.name


@contextmanager
def _part(folder: Path, unit: Unit, answerer: Answerer) -> Iterator[_Writer]:
    """A writer; its file is removed if anything goes wrong."""
    # another worker may run the same task if this one is presumed dead, so each has its own file
    writer = _Writer(folder / f".{unit.name}.{uuid.uuid4().hex[:8]}", answerer)
    try:
        yield writer
    except BaseException:
        with suppress(OSError):
            if writer.file is not None:
                writer.file.close()
        with suppress(OSError):
            writer.path.unlink()
        raise


@contextmanager
def write_errors(folder: str | Path) -> Iterator[None]:
    """Turn errors of writing into an `UnmixError`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            problem, remedy = (
                "the disk is full",
                "Make room and run the same command again: it goes on where it stopped",
            )
        else:
            problem = f"the output cannot be written ({error.strerror or error})"
            remedy = "Check that the folder is there and may be written, on every machine, and run the command again"
        raise UnmixError(problem, where=str(folder), remedy=remedy) from None


BATCH = 128
"""Windows that are answered together: several of the compiled programs' fixed batches."""


def _lost(window: Window) -> ErrorRow:
    reason = (
        f"the model gives no finite answer from {window.start_s:.6g} s to {window.end_s:.6g} s. "
        "Check the readings with `unmixnet check`."
    )
    return ErrorRow(window.file, None, "refused", reason)

"""`unmixnet unmix-archive IN OUT`: every window of every recording of a folder, as Parquet."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmixnet.cli.output import message, print_json, progress, spinner
from unmixnet.cli.unmix import DEFAULT

if TYPE_CHECKING:
    from unmixnet.inference.archive.inputs import Unit
    from unmixnet.inference.archive.run import Report
    from unmixnet.inference.archive.task import UnitResult
    from unmixnet.inference.bundle import Bundle

__all__ = ["unmix_archive"]

_SILENCE_S = 30.0


def unmix_archive(
    archive: Annotated[Path, typer.Argument(metavar="IN", help="Folder of recordings or of Parquet files.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the answers; an earlier run goes on.")],
    model: Annotated[str, typer.Option("--model", metavar="DIR|NAME", help="Folder or name of a bundle.")] = DEFAULT,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS|local", help="Run on a Ray cluster instead of local processes.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes; every core if left out.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Unmix an archive of any size: one row per window, exactly once, going on where an earlier run stopped.

    Exit code 2 if something could not be answered; OUT/errors.parquet says what and why.
    """
    from unmixnet.inference.archive.workers import place_of

    place = place_of(ray, workers)
    with spinner("opening the model"):
        from unmixnet.inference.archive.run import unmix_archive as run
        from unmixnet.inference.bundle import find_bundle, load_bundle

        folder = find_bundle(model)
        bundle = load_bundle(folder)
    try:
        with _counts(archive) as watch:
            report = run(archive, out, bundle, folder, place=place, watch=watch)
    except KeyboardInterrupt:
        message("Stopped. Run the same command again: it goes on where it stopped.")
        raise typer.Exit(130) from None
    if as_json:
        print_json("unmixnet.unmix-archive/2", _values(report, bundle, out))
    else:
        _show(report, out)
    raise typer.Exit(2 if report.totals.refused else 0)


@contextmanager
def _counts(archive: Path) -> Iterator[Callable[["Unit", "UnitResult"], None]]:
    """A line on stderr for each refusal, and how far the run is: a spinner, or now and then a line."""
    files, windows, printed_at = 0, 0, time.monotonic()
    with progress() as display:
        bar = display.bar(f"unmixing {archive} (a worker compiles for some seconds first)")

        def watch(unit: "Unit", done: "UnitResult") -> None:
            nonlocal files, windows, printed_at
            for error in done.errors:
                if error.kind == "refused":
                    line = "" if error.line is None else f", line {error.line}"
                    message(f"{error.file}{line}: {error.reason}")
            files, windows = files + len(unit.inputs), windows + sum(done.windows)
            bar.update(f"{files:,} files, {windows:,} windows")
            if time.monotonic() - printed_at > _SILENCE_S:
                display.log(f"{files:,} files, {windows:,} windows")
                printed_at = time.monotonic()

        yield watch


def _values(report: "Report", bundle: "Bundle", out: Path) -> dict[str, Any]:
    totals = report.totals
    return {
        "model": bundle.name,
        "digest": bundle.digest,
        "windows": str(out / "windows"),
        "errors": str(out / "errors.parquet"),
        "total": {
            "files": totals.files,
            "windows": totals.windows,
            "refused": totals.refused,
            "jumps": totals.jumps,
            "bytes": totals.size,
        },
        "this_run": {
            "files": report.fresh,
            "windows": report.fresh_windows,
            "known_before": report.known,
            "seconds": round(report.seconds, 3),
        },
    }


def _show(report: "Report", out: Path) -> None:
    totals = report.totals
    rate = report.fresh_windows / max(report.seconds, 1e-9)
    before = f", {report.known:,} were answered before" if report.known else ""
    message(
        f"{report.fresh:,} files{before}; {report.fresh_windows:,} windows in {report.seconds:.1f} s ({rate:,.0f}/s)."
    )
    message(f"{out / 'windows'} holds {totals.windows:,} windows of {totals.files:,} files.")
    if totals.refused or totals.jumps:
        message(
            f"{totals.refused:,} refusals and {totals.jumps:,} jumps in time: see {out / 'errors.parquet'} "
            "(file, line, kind, reason)."
        )

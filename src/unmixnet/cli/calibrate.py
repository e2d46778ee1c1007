"""`unmixnet calibrate DATASET -o SIM`: fit the physics to training recordings, freeze it, and say what it explains."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from unmixnet.cli.output import emit, say, table

__all__ = ["calibrate"]


def calibrate(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET", help="A protocol such as smellnet-mixture:clean:seen, or simulated; its training part."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="SIM", help="Folder of the frozen simulator.")],
    data: Annotated[Path | None, typer.Option(help="Data folder; else the variable UNMIXNET_DATA.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Split of a data set that is given by its bare name, e.g. clean:seen.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of Levenberg–Marquardt in a stage, at most.")] = None,
    seconds: Annotated[float | None, typer.Option(min=2, help="Use only so many seconds of each recording.")] = None,
    quick: Annotated[bool, typer.Option(help="Few steps, and no second calibration for new sessions.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Fit a simulator to recordings of known mixtures in four stages, freeze it, and report what it explains.

    Pure substances first, then mixtures, then all together; then it is frozen and never refitted. Only training
    recordings are fitted. An interrupted calibration goes on with the stage that was not finished.
    (`calibrate-session` is another thing: it adapts a trained model to today's sensors.)
    """
    from unmixnet.training.calibration.command import ITERATIONS, QUICK, calibrate_protocol, write_report

    name = dataset if protocol is None else f"{dataset}:{protocol}"
    with _bars() as (watch, tell):
        outcome = calibrate_protocol(
            name,
            output,
            root=data,
            iterations=steps or (QUICK if quick else ITERATIONS),
            seconds=seconds,
            held_out=not quick,
            watch=watch,
            say=tell,
        )
        values = write_report(outcome, output)
    if as_json:
        emit(values)
    else:
        _show(values, output)


@contextmanager
def _bars() -> Iterator[tuple[Callable[[str, int, int, float], None], Callable[[str], None]]]:
    """A bar for each stage with its loss, on stderr; one line for each stage where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:

        def watch(stage: str, iteration: int, most: int, loss: float) -> None:
            if iteration == 1 or stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=most)
                if not console.is_terminal:
                    console.print(f"{stage} (at most {most} steps)", highlight=False)
            bars.update(tasks[stage], completed=iteration, description=f"{stage}, loss {loss:.4g}")

        yield watch, lambda text: console.print(text, highlight=False)


def _show(values: dict[str, Any], output: Path) -> None:
    rows = [
        [f"{one['where']}, {one['levels']}", one["law"], str(one["recordings"]), f"{one['total']:.3f}"]
        for one in values["scores"]
    ]
    table("Share of variance explained", ["where, levels", "law", "recordings", "R²"], rows)
    kept = {verdict: sum(one[verdict] for one in values["groups"] if not one["combined"]) for verdict in _VERDICTS}
    told = ", ".join(f"{count} {verdict}" for verdict, count in kept.items())
    say(f"Coefficients: {told}.")
    say(f"Frozen in [bold]{output}[/], {values['sha256'][:16]}…; the report is [bold]{output / 'report.md'}[/]")


_VERDICTS = ("determined", "weak", "not determined")

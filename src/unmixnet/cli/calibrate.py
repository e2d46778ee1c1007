"""`unmixnet calibrate DATASET -o SIM`: fit the physics to training recordings, freeze it, report what it explains."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from unmixnet.cli.output import Bar, bold, message, print_json, print_table, progress

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
    with _stage_bars() as watch:
        outcome = calibrate_protocol(
            name,
            output,
            root=data,
            iterations=steps or (QUICK if quick else ITERATIONS),
            seconds=seconds,
            held_out=not quick,
            watch=watch,
            say=message,
        )
        values = write_report(outcome, output)
    if as_json:
        print_json("unmixnet.calibrate/1", _without_spaces(values))
    else:
        _show(values, output)


@contextmanager
def _stage_bars() -> Iterator[Callable[[str, int, int, float], None]]:
    """A bar for each stage, with its loss."""
    bars: dict[str, Bar] = {}
    with progress() as display:

        def watch(stage: str, iteration: int, most: int, loss: float) -> None:
            if iteration == 1 or stage not in bars:
                display.log(f"{stage} (at most {most} steps)")
                bars[stage] = display.bar(stage, most)
            bars[stage].update(completed=iteration, note=f"loss {loss:.4g}")

        yield watch


def _without_spaces(value: Any) -> Any:
    """The values of report.json, with underscores in the names of its fields."""
    if isinstance(value, dict):
        return {name.replace(" ", "_"): _without_spaces(part) for name, part in value.items()}
    return [_without_spaces(part) for part in value] if isinstance(value, list | tuple) else value


def _show(values: dict[str, Any], output: Path) -> None:
    rows = [
        [f"{score['where']}, {score['levels']}", score["law"], score["recordings"], f"{score['total']:.3f}"]
        for score in values["scores"]
    ]
    print_table("Share of variance explained", ["where, levels", "law", "recordings", "R²"], rows)
    single = [group for group in values["groups"] if not group["combined"]]
    counts = ", ".join(f"{sum(group[verdict] for group in single)} {verdict}" for verdict in _VERDICTS)
    message(f"Coefficients: {counts}.")
    report = output / "report.md"
    message("Frozen in ", bold(output), f", {values['sha256'][:16]}…; the report is ", bold(report))


_VERDICTS = ("determined", "weak", "not determined")

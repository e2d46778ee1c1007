"""Options that the commands of the studies share, and how they store and print results."""

import json
from collections import defaultdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from studies.harness.results import StudyResult

__all__ = [
    "RESULTS",
    "Add",
    "Again",
    "AsJson",
    "Data",
    "Done",
    "OnRay",
    "Only",
    "Out",
    "Quick",
    "Seeds",
    "Sized",
    "Stale",
    "Studied",
    "WorkIn",
    "beside",
    "keep",
    "print_tables",
    "selection",
    "store",
]

RESULTS = Path("studies/results")
Data = Annotated[Path | None, typer.Option(help="Data folder; else the variable UNMIXNET_DATA.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Out = Annotated[Path | None, typer.Option(help=f"Where to store; in a checkout, under {RESULTS}.")]


Only = Annotated[list[str] | None, typer.Option(help="Run only this model; may be repeated.")]
Studied = Annotated[list[str] | None, typer.Option("--study", help="Run only this study; may be repeated.")]
Seeds = Annotated[int, typer.Option(min=1, help="Seeds for each model that has one.")]
Quick = Annotated[bool, typer.Option(help="One seed and few epochs: the same tables within minutes, marked as such.")]
Sized = Annotated[str, typer.Option("--size", help="Size of the networks: small or paper.")]
WorkIn = Annotated[Path | None, typer.Option("--work", help="Finished parts are kept here; a rerun skips them.")]
Stale = Annotated[bool, typer.Option(help="Use finished parts though the code that made them has changed since.")]
Again = Annotated[bool, typer.Option(help="Train nothing: compute the scores of recordings from stored predictions.")]
Add = Annotated[
    bool, typer.Option("--add", help="Put the models that were run into the stored results; the others stay there.")
]
Done = Annotated[bool, typer.Option("--finished", help="Train nothing: collect what is finished, name what is not.")]
OnRay = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS|local", help="Spread the trainings over a Ray cluster.")
]


def store(result: dict[str, object], target: Path | None) -> None:
    """Write the file, if there is a place for it: not outside a checkout, nor for some tables only."""
    from unmixnet.files.replacement import write_file

    if target is None or (target.parent == RESULTS and not RESULTS.parent.is_dir()):
        return
    write_file(target, json.dumps(result, indent=1) + "\n")


def beside(target: Path) -> Path:
    """Where the predictions of a result file are."""
    return target.parent / "predictions" / f"{target.stem}.parquet"


def keep(study_result: "StudyResult", target: Path, name: str, *, add: bool, part: bool) -> "StudyResult":
    """Store results and the predictions beside them; a part of the studies of a command only where it is added."""
    from studies.harness.definitions import STUDIES
    from studies.harness.merge import merged
    from studies.harness.predictions import read_predictions, write_predictions

    if add and target.is_file():
        study_result = merged(
            study_result, json.loads(target.read_text()), read_predictions(beside(target)), STUDIES[name]
        )
    elif part and (study_result.result["quick"] or not add):
        return study_result
    store(study_result.result, target)
    if target.is_file():
        write_predictions(beside(target), study_result.answers)
    return study_result


def selection(only: list[str] | None, study: list[str] | None) -> str:
    """The chosen studies and models, as options on the command line."""
    chosen = [("--study", name) for name in study or ()] + [("--only", name) for name in only or ()]
    return "".join(f" {option} {quote(name)}" for option, name in chosen)


def print_tables(rows: list[dict]) -> None:
    """One table for every protocol, split and level; the models in rows, the metrics in columns."""
    from unmixnet.cli.output import print_table, print_text

    groups: dict[tuple[str, str, str], list[dict]] = defaultdict(list)
    for row in rows:
        groups[row["protocol"], row["split"], row["level"]].append(row)
    for (protocol, split, level), members in groups.items():
        metrics = list(dict.fromkeys(row["metric"] for row in members))
        lines = []
        for model in dict.fromkeys(row["model"] for row in members):
            cells = {row["metric"]: row for row in members if row["model"] == model}
            lines.append([model, *(_cell(cells[name]) if name in cells else "" for name in metrics)])
        print_table(f"{protocol}, {split}, per {level}", ["model", *metrics], lines)
    print_text("mean ± sd over seeds [95 % interval by resampling recordings, or supports for new mixtures]")


def _cell(row: dict) -> str:
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else ""
    return f"{row['mean']:.3f}{spread} [{row['lo']:.3f}, {row['hi']:.3f}]"

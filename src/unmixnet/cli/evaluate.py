"""`unmixnet evaluate MODEL SPLIT`: how good is a model on recordings that it has not seen?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmixnet.cli.output import Styled, message, print_json, print_table, progress, spinner

if TYPE_CHECKING:
    from unmixnet.inference.evaluate import Evaluation

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder or name of a bundle.")],
    split: Annotated[str, typer.Argument(metavar="SPLIT", help="Named protocol, or a folder with a manifest.")],
    data: Annotated[Path | None, typer.Option(help="Data folder; else the variable UNMIXNET_DATA.")] = None,
    fold: Annotated[int | None, typer.Option(min=0, help="Which fold, where there are several.")] = None,
    seen: Annotated[bool, typer.Option("--seen", help="Score recordings that the model was trained on, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score a model per window and per recording, beside the mean of its training."""
    with spinner("opening the model"):
        from unmixnet.inference.bundle import load_model
        from unmixnet.inference.evaluate import evaluate as run
        from unmixnet.inference.evaluate import scoring_set

        bundle = load_model(model)
    with progress() as display:
        test = scoring_set(bundle, split, data, fold=fold, progress=display)
    with spinner(f"scoring {len(test.recordings)} recordings"):
        result = run(bundle, test, allow_seen=seen)
    if as_json:
        values = {"model": bundle.name, "digest": bundle.digest, **result.to_json()}
        print_json("unmixnet.evaluate/1", values)
        return
    _show(result)


def _show(result: "Evaluation") -> None:
    for level in ("window", "recording"):
        rows = [row for row in result.rows if row.level == level]
        metrics = list(dict.fromkeys(row.metric for row in rows))
        models = list(dict.fromkeys(row.model for row in rows))
        cells = {(row.metric, row.model): f"{row.mean:.3f} [{row.lo:.3f}, {row.hi:.3f}]" for row in rows}
        lines = [[metric, *(cells[metric, model] for model in models)] for metric in metrics]
        print_table(f"{result.split}, per {level}", ["metric", *models], lines)
    message(f"{result.recordings} recordings; {result.measures}. Brackets: 95 % by resampling.")
    message(
        f"90 % intervals cover {result.coverage:.0%} of all shares and {result.covered_present:.0%} of those that are "
        f"there; mean width {result.width:.2f}. Called unlike training: {result.unlike:.0%}; nothing above background: "
        f"{result.nothing:.0%}."
    )
    if result.seen:
        warning = f"{len(result.seen)} of these recordings were seen in training: this measures memory."
        message(Styled(warning, "yellow"))

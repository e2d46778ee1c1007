"""`python -m studies novelty`: is an unknown substance noticed?"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from studies.options import RESULTS, AsJson, Data, Out, WorkIn, store

__all__ = ["novelty"]


def novelty(
    data: Data = None,
    dataset: Annotated[list[str] | None, typer.Option(help="simulated or smellnet-mixture; both if left out.")] = None,
    substance: Annotated[list[str] | None, typer.Option(help="Leave this one out; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option(help="One substance and few epochs: within minutes, marked as such.")] = False,
    work: WorkIn = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Is a substance noticed that training never had? Three are left out in turn, one short training each."""
    from studies.harness.work import Work
    from studies.novelty.novelty import DATASETS, leave_out, novelty_config, novelty_fold, novelty_rows
    from unmixnet.cli.output import progress
    from unmixnet.files.provenance import provenance
    from unmixnet.recordings.pieces import Recall

    kept, recall = Work(work or Path("out/reproduce/novelty")), Recall(data)
    result = provenance("python -m studies novelty" + (" --quick" if quick else ""), quick=quick, rows=[])
    target = out or (None if quick or dataset or substance else RESULTS / "novelty.json")
    with progress() as display:
        for name in dataset or DATASETS:
            fold, config = novelty_fold(name, data), novelty_config(name, quick=quick)
            names = substance or fold.data.components[:: 12 if quick else 4]
            for novel in [leave_out(fold, name) for name in names]:
                rows = novelty_rows(config, novel, recall, kept, progress=display)
                result["rows"] += [dataclasses.asdict(row) for row in rows]
                store(result, target)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print_novelty(result["rows"])


def _print_novelty(rows: list[dict]) -> None:
    from unmixnet.cli.output import print_table

    for data, substance in dict.fromkeys((row["data"], row["substance"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["substance"]) == (data, substance)]
        title = f"{data} without {substance}: {mine[0]['known']} known and {mine[0]['unknown']} unknown recordings"
        print_table(title, ["score", "AUROC", "half or more", "false alarms", "found"], [_cells(row) for row in mine])


def _cells(row: dict) -> list[str]:
    half = "" if row["auroc_half"] is None else f"{row['auroc_half']:.3f}"
    area = f"{row['auroc']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]"
    return [row["score"], area, half, *(f"{100 * row[key]:.0f} %" for key in ("false_alarms", "found"))]

"""`python -m studies uci`: gases of known concentration."""

import json
from pathlib import Path
from typing import Annotated

import typer

from studies.options import RESULTS, AsJson, Data, Out, Seeds, WorkIn, print_tables, store

__all__ = ["uci"]


def uci(
    data: Data = None,
    only: Annotated[list[str] | None, typer.Option(help="Run only this table: plateaus, traces or dynamic.")] = None,
    seeds: Seeds = 10,
    hours: Annotated[float, typer.Option(min=0.02, help="Length of generated recordings.")] = 12.0,
    rate: Annotated[float, typer.Option(min=1, max=100, help="Rows a second of generated recordings.")] = 100.0,
    figures: Annotated[Path | None, typer.Option(help="Folder for pictures.")] = None,
    resume: Annotated[bool, typer.Option(help="Keep the tables that the file already has.")] = False,
    work: WorkIn = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Gases whose concentration is known: real plateaus, real traces, the paper's tables on generated recordings."""
    from studies.uci.tables import gather_uci
    from unmixnet.cli.output import progress

    target = out or (None if only else RESULTS / "uci.json")
    kept = json.loads(target.read_text()) if resume and target and target.is_file() else None
    with progress() as display:
        result = gather_uci(
            data,
            store=lambda result: store(result, target),
            only=tuple(only or ()),
            kept=kept,
            seeds=seeds,
            hours=hours,
            rate_Hz=rate,
            work=work or Path("out/reproduce/uci"),
            figures=figures,
            progress=display,
        )
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(result["rows"])

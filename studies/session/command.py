"""`python -m studies session`: what labelled recordings of the same session are worth."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from studies.options import RESULTS, AsJson, Data, Out, Quick, Stale, WorkIn, print_tables, store

__all__ = ["session"]


def session(
    data: Data = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws of references for every number of them.")] = 20,
    quick: Quick = False,
    work: WorkIn = None,
    stale: Stale = False,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Session calibration: 1, 3 or 5 labelled recordings of a new session, every way to use them, wrong labels too."""
    from studies.harness.jobs import Options
    from studies.harness.work import Work
    from studies.session.table import prepared, session_rows
    from unmixnet.cli.output import progress
    from unmixnet.files.provenance import provenance

    draws, target = (1, out) if quick else (draws, out or RESULTS / "session.json")
    command = "python -m studies session" + (" --quick" if quick else f" --draws {draws}")
    result = provenance(command, quick=quick, draws=draws, rows=[])
    with progress() as display:
        options = Options(1, quick=quick)
        sessions = prepared(data, Work(work or Path("out/reproduce/smellnet"), stale=stale), options, display)
        for rows in session_rows(sessions, display, draws=draws):
            result["rows"] += [dataclasses.asdict(row) for row in rows]
            store(result, target)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(result["rows"])

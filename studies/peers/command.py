"""`python -m studies peers`: classical peers and controls."""

import dataclasses
import json
from typing import Annotated

import typer

from studies.options import RESULTS, AsJson, Data, Out, print_tables, store

__all__ = ["peers"]


def peers(
    data: Data = None,
    as_json: AsJson = False,
    only: Annotated[list[str] | None, typer.Option(help="Run only this table; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds for each model that has one.")] = 10,
    resume: Annotated[bool, typer.Option(help="Keep the tables that the file already has.")] = False,
    out: Out = None,
) -> None:
    """Classical peers and controls on every protocol; about ten minutes. The file grows table by table."""
    from studies.peers.peers import names, reproduce_peers, statements
    from unmixnet.cli.output import progress
    from unmixnet.errors import ConfigError
    from unmixnet.files.provenance import provenance

    for name in only or ():
        if name not in names():
            raise ConfigError(f"no table {name!r}", remedy=f"Choose among {', '.join(names())}")
    target = out or (None if only else RESULTS / "peers.json")
    kept = json.loads(target.read_text()) if resume and target and target.is_file() else {}
    done, rows = [*kept.get("tables", ())], [*kept.get("rows", ())]
    todo = tuple(name for name in only or names() if name not in done)
    command = "python -m studies peers" + "".join(f" --only '{name}'" for name in only or ())
    earlier = (
        [*kept.get("earlier", ()), {"commit": kept["commit"], "date": kept["date"], "tables": [*done]}] if kept else []
    )
    result = provenance(command, seeds=seeds, models=statements(), earlier=earlier, tables=done, rows=rows)
    with progress() as display:
        for name, new in reproduce_peers(data, seeds=seeds, only=todo, progress=display) if todo else ():
            done.append(name)
            rows += [dataclasses.asdict(row) for row in new]
            store(result, target)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(rows)

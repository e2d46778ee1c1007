"""`unmixnet reproduce …`: every table, from the data to the numbers."""

import dataclasses
import json
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(help="Reproduce every table, with its null baselines and controls.", no_args_is_help=True)
RESULTS = Path("benchmarks/results")
Data = Annotated[Path | None, typer.Option(help="Data folder; else the variable UNMIXNET_DATA.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Out = Annotated[Path | None, typer.Option(help=f"Where to store; in a checkout, under {RESULTS}.")]


@app.command()
def audit(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The audit of SmellNet, in the numbers that the documentation quotes; half a minute."""
    from unmixnet.cli.progress import stages
    from unmixnet.provenance import provenance
    from unmixnet.reproduce.audit import reproduce_audit

    with stages() as progress:
        found = reproduce_audit(data, progress=progress)
    result = provenance("unmixnet reproduce audit", datasets=found)
    _store(result, out or RESULTS / "audit.json")
    print(json.dumps(result, indent=1) if as_json else "\n".join(str(item["headline"]) for item in found.values()))


@app.command()
def peers(
    data: Data = None,
    as_json: AsJson = False,
    only: Annotated[list[str] | None, typer.Option(help="Run only this table; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds for each model that has one.")] = 10,
    resume: Annotated[bool, typer.Option(help="Keep the tables that the file already has.")] = False,
    out: Out = None,
) -> None:
    """Classical peers and controls on every protocol; about ten minutes. The file grows table by table."""
    from unmixnet.cli.progress import stages
    from unmixnet.errors import ConfigError
    from unmixnet.provenance import provenance
    from unmixnet.reproduce.peers import names, reproduce_peers, statements

    for name in only or ():
        if name not in names():
            raise ConfigError(f"no table {name!r}", remedy=f"Choose among {', '.join(names())}")
    target = out or (None if only else RESULTS / "peers.json")
    kept = json.loads(target.read_text()) if resume and target and target.is_file() else {}
    done, rows = [*kept.get("tables", ())], [*kept.get("rows", ())]
    todo = tuple(name for name in only or names() if name not in done)
    command = "unmixnet reproduce peers" + "".join(f" --only '{name}'" for name in only or ())
    earlier = (
        [*kept.get("earlier", ()), {"commit": kept["commit"], "date": kept["date"], "tables": [*done]}] if kept else []
    )
    result = provenance(command, seeds=seeds, models=statements(), earlier=earlier, tables=done, rows=rows)
    with stages() as progress:
        for name, new in reproduce_peers(data, seeds=seeds, only=todo, progress=progress) if todo else ():
            done.append(name)
            rows += [dataclasses.asdict(row) for row in new]
            _store(result, target)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print_tables(rows)


def _store(result: dict[str, object], target: Path | None) -> None:
    """Write the file, if there is a place for it: not outside a checkout, nor for some tables only."""
    if target is None or (target.parent == RESULTS and not RESULTS.parent.is_dir()):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(result, indent=1) + "\n")


def _print_tables(rows: list[dict]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    groups: dict[tuple[str, str, str], list[dict]] = defaultdict(list)
    for row in rows:
        groups[row["protocol"], row["split"], row["level"]].append(row)
    for (protocol, split, level), members in groups.items():
        metrics = list(dict.fromkeys(row["metric"] for row in members))
        table = Table(title=f"{protocol}, {split}, per {level}", title_justify="left", header_style="bold")
        table.add_column("model")
        for metric in metrics:
            table.add_column(escape(metric), justify="right")
        for model in dict.fromkeys(row["model"] for row in members):
            cells = {row["metric"]: row for row in members if row["model"] == model}
            table.add_row(model, *(_cell(cells[name]) if name in cells else "" for name in metrics))
        console.print(table)
    console.print("mean ± sd over seeds [95 % interval by resampling recordings, or supports for new mixtures]")


def _cell(row: dict) -> str:
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else ""
    return f"{row['mean']:.3f}{spread} [{row['lo']:.3f}, {row['hi']:.3f}]"

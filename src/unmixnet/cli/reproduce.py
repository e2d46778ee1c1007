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


Only = Annotated[list[str] | None, typer.Option(help="Run only this model; may be repeated.")]
Studied = Annotated[list[str] | None, typer.Option("--study", help="Run only this study; may be repeated.")]
Seeds = Annotated[int, typer.Option(min=1, help="Seeds for each model that has one.")]
Quick = Annotated[bool, typer.Option(help="One seed and few epochs: the same tables within minutes, marked as such.")]
Sized = Annotated[str, typer.Option("--size", help="Size of the networks: small or paper.")]
WorkIn = Annotated[Path | None, typer.Option("--work", help="Finished parts are kept here; a rerun skips them.")]
Stale = Annotated[bool, typer.Option(help="Use finished parts though the code that made them has changed since.")]
Again = Annotated[bool, typer.Option(help="Train nothing: compute the scores of recordings from stored predictions.")]
Done = Annotated[bool, typer.Option("--finished", help="Train nothing: collect what is finished, name what is not.")]
OnRay = Annotated[
    str | None, typer.Option("--ray", metavar="ADDRESS|local", help="Spread the trainings over a Ray cluster.")
]


@app.command()
def simulated(
    only: Only = None,
    study: Studied = None,
    seeds: Seeds = 3,
    quick: Quick = False,
    size: Sized = "small",
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    from_predictions: Again = False,
    ray: OnRay = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Every model where the physics is true: 12 substances, 4 and 8 sensors, new sessions and new mixtures."""
    _study(
        "simulated", None, only, study, seeds, quick, size, work, stale, finished, from_predictions, as_json, out, ray
    )


@app.command()
def smellnet(
    data: Data = None,
    only: Only = None,
    study: Studied = None,
    seeds: Seeds = 1,
    quick: Quick = False,
    size: Sized = "small",
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    from_predictions: Again = False,
    ray: OnRay = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Every model on SmellNet: official and clean splits, new sessions, new mixtures, 50 substances."""
    _study(
        "smellnet", data, only, study, seeds, quick, size, work, stale, finished, from_predictions, as_json, out, ray
    )


@app.command()
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
    from unmixnet.cli.progress import stages
    from unmixnet.provenance import provenance
    from unmixnet.reproduce.novelty import DATASETS, leave_out, novelty_config, novelty_rows, novelty_turn
    from unmixnet.reproduce.recall import Recall
    from unmixnet.reproduce.work import Work

    kept, recall = Work(work or Path("out/reproduce/novelty")), Recall(data)
    result = provenance("unmixnet reproduce novelty" + (" --quick" if quick else ""), quick=quick, rows=[])
    target = out or (None if quick or dataset or substance else RESULTS / "novelty.json")
    with stages() as progress:
        for name in dataset or DATASETS:
            turn, config = novelty_turn(name, data), novelty_config(name, quick=quick)
            names = substance or turn.data.components[:: 12 if quick else 4]
            for novel in [leave_out(turn, one) for one in names]:
                rows = novelty_rows(config, novel, recall, kept, progress=progress)
                result["rows"] += [dataclasses.asdict(row) for row in rows]
                _store(result, target)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print_novelty(result["rows"])


@app.command()
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
    from unmixnet.cli.progress import stages
    from unmixnet.reproduce.uci import gather_uci

    target = out or (None if only else RESULTS / "uci.json")
    kept = json.loads(target.read_text()) if resume and target and target.is_file() else None
    with stages() as progress:
        result = gather_uci(
            data,
            store=lambda result: _store(result, target),
            only=tuple(only or ()),
            kept=kept,
            seeds=seeds,
            hours=hours,
            rate_Hz=rate,
            work=work or Path("out/reproduce/uci"),
            figures=figures,
            progress=progress,
        )
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print_tables(result["rows"])


@app.command()
def bundles(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The shipped bundles on recordings that they have not seen: errors, coverage and width of the intervals."""
    from unmixnet.cli.progress import stages
    from unmixnet.provenance import provenance
    from unmixnet.reproduce.shipped import shipped_scores

    result = provenance("unmixnet reproduce bundles", tests=[])
    with stages() as progress:
        for found in shipped_scores(data, progress):
            result["tests"].append(found)
            _store(result, out or RESULTS / "bundles.json")
    if as_json:
        print(json.dumps(result, indent=1))
        return
    for found in result["tests"]:
        print(
            f"{found['bundle']} on {found['split']}, {found['recordings']} recordings: intervals of 90 % hold "
            f"{100 * found['coverage']:.0f} % of all shares, {100 * found['covered_present']:.0f} % of those that are "
            f"there; their mean width is {found['width']:.2f}"
        )


def _print_novelty(rows: list[dict]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    for data, substance in dict.fromkeys((row["data"], row["substance"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["substance"]) == (data, substance)]
        title = f"{data} without {substance}: {mine[0]['known']} known and {mine[0]['unknown']} unknown recordings"
        table = Table("score", "AUROC", "half or more", "false alarms", "found", title=title, title_justify="left")
        for row in mine:
            half = "" if row["auroc_half"] is None else f"{row['auroc_half']:.3f}"
            area = escape(f"{row['auroc']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}]")
            table.add_row(row["score"], area, half, *(f"{100 * row[key]:.0f} %" for key in ("false_alarms", "found")))
        console.print(table)


def _study(
    name: str,
    data: Path | None,
    only: list[str] | None,
    study: list[str] | None,
    seeds: int,
    quick: bool,
    size: str,
    work: Path | None,
    stale: bool,
    finished: bool,
    from_predictions: bool,
    as_json: bool,
    out: Path | None,
    ray: str | None = None,
) -> None:
    """Run studies, or score their stored predictions; a part of them is stored only where `--out` says."""
    from unmixnet.errors import ConfigError
    from unmixnet.reproduce import evidence
    from unmixnet.reproduce.display import Display
    from unmixnet.reproduce.predictions import write_predictions
    from unmixnet.reproduce.run import Options
    from unmixnet.reproduce.studies import chosen
    from unmixnet.reproduce.work import Work

    if size not in ("small", "paper"):
        raise ConfigError(f"no size {size!r}", remedy="Choose small or paper")
    title = name if size == "small" else f"{name}-{size}"
    target = out or RESULTS / f"{title}.json"
    beside = target.parent / "predictions" / f"{target.stem}.parquet"
    folder = work or Path("out/reproduce") / name
    command = f"unmixnet reproduce {name} --seeds {seeds}" + (" --quick" if quick else "")
    command += "" if size == "small" else f" --size {size}"
    if from_predictions or (as_json and not folder.exists() and beside.is_file()):
        result = evidence.from_predictions(f"unmixnet reproduce {name} --from-predictions", beside, target)
    else:
        options = Options(1 if quick else seeds, size, quick, ray=ray)
        studies = chosen(name, tuple(study or ()), tuple(only or ()))
        with Display() as watch:
            found = evidence.gather(
                command, studies, data, Work(folder, stale=stale), options, watch, finished=finished
            )
        result = found.result
        if out or not (only or study or quick):
            _store(result, target)
            if target.is_file():
                write_predictions(beside, found.answers)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        _print_tables(result["rows"])


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

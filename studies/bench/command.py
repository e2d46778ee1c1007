"""`python -m studies bench solver`, `… training` and `… cells`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import message, print_table, spinner

__all__ = ["app", "cells", "solver", "training"]

app = typer.Typer(help="Measure speed and memory.", no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Measure speed and memory."""


@app.command()
def solver(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="12 odorants, batch 32: under two minutes.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw time against error into this PNG.")] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
) -> None:
    """Our steps, first order, plain formulas, SciPy Radau, diffrax: time, memory, kernels, equal error (20 minutes)."""
    from studies.bench.solver import run_solver

    with spinner("starting") as status:
        result = run_solver(quick=quick, progress=status.update)
    if plot is not None:
        from studies.bench.figure import draw_work_precision

        draw_work_precision(result, plot)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
    else:
        _show(result)


@app.command()
def training(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    size: Annotated[str, typer.Option(help="small or paper.")] = "small",
    output: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
) -> None:
    """A training step (batch 32, 12 odorants, the default window): share of encoder and solver (about a minute)."""
    from studies.bench.training import run_training
    from unmixnet.errors import ConfigError

    if size not in ("small", "paper"):
        raise ConfigError(f"no size {size!r}", remedy="Choose small or paper")
    with spinner("starting") as status:
        result = run_training(size=size, progress=status.update)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
        return
    rows = [
        [name, f"{1e3 * value:.3g}", f"{result['memory_bytes'][name] / 1e6:.3g}"]
        for name, value in result["seconds"].items()
    ]
    print_table("A training step: batch 32, 12 odorants, float32", ["what", "ms", "MB"], rows)
    shares = ", ".join(f"{name} {100 * value:.0f} %" for name, value in result["shares"].items())
    message(f"{shares}. The closed loop costs {result['closed_loop_over_encoder']:.1f} times the encoder alone.")


def _show(result: dict) -> None:
    """The tables of a result on the terminal."""
    ratio = {(r["odorants"], r["batch"], r["pass"]): r for r in result["ratios"]}
    rows = []
    for row in result["rows"]:
        over = ratio.get((row["odorants"], row["batch"], row["pass"]), {}) if row["path"] == "ours" else {}
        rows.append(
            [
                row["path"] + ("*" if row.get("extrapolated") else ""),
                str(row["odorants"]),
                str(row["batch"]),
                row["pass"].replace("forward+backward", "fwd+bwd"),
                f"{1e3 * row['seconds_per_sample']:.3g}",
                f"{row['memory_bytes'] / 1e6:.3g}" if row["memory_bytes"] else "–",
                str(row.get("kernels_per_step", "")),
                _times(over.get("before_over_ours")),
                _times(over.get("plain_over_ours")),
            ]
        )
    columns = ["path", "K", "batch", "pass", "ms/sample", "MB", "kernels/step", "× before", "× plain"]
    print_table("Solver: 8 cells, 4 sensors, 100 steps, float32", columns, rows)
    for entry in result["work_precision"]:
        rows = [_equal(line) for line in entry["equal_error"]]
        columns = ["error", "at", "ours [ms]", "× before", "× Radau", "× diffrax", "its solver"]
        print_table(f"Per sample at equal error, {entry['odorants']} odorants, batch 32", columns, rows)
    best = max(result["gemm_fraction"], key=lambda line: line["fraction"])
    message(
        f"Matrix products reach {100 * best['fraction']:.1f} % of a large product's "
        f"{result['gemm']['gflop_per_s']:.0f} GFLOP/s ({best['odorants']} odorants, "
        f"batch {best['batch']}, {best['pass']}). {result['bound']}"
    )


def _equal(line: dict) -> list[str]:
    """Ours and the others at one error."""
    ratios = [_times(line[other] and line[other] / line["ours"]) for other in ("before", "radau", "diffrax")]
    ratios[0] += "*" * line["before_extrapolated"]
    return [f"{line['error']:.0e}", line["kind"], f"{1e3 * line['ours']:.3g}", *ratios, line["diffrax_by"] or ""]


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3g}"


@app.command()
def cells(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    repetitions: Annotated[int, typer.Option(help="Of each timing.")] = 7,
    output: Annotated[Path, typer.Option(help="Write the JSON to this file.")] = Path("studies/results/cells.json"),
) -> None:
    """Error and time of 8 to 64 cells, both orders, steps of 1 s to a quarter, with true coefficients (5 minutes)."""
    from studies.bench.cells import run_cells
    from studies.tables.cells import cells_part

    with spinner("starting") as status:
        result = run_cells(repetitions=repetitions, progress=status.update)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2, allow_nan=False) if as_json else "\n".join(cells_part(result, "error")))

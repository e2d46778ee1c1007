"""`unmixnet bench solver`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import emit, say, table

__all__ = ["app", "solver"]

app = typer.Typer(help="Measure speed and memory.", no_args_is_help=True)


@app.callback()
def _bench() -> None:
    """Measure speed and memory."""


@app.command()
def solver(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="12 odorants, batch 1 and 32: about a minute.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw time against error into this PNG.")] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
) -> None:
    """Default path, plain path and SciPy Radau: time, memory, and time at equal error (up to 15 minutes)."""
    from rich.console import Console

    from unmixnet.bench.solver import run_solver

    with Console(stderr=True).status("starting") as status:
        result = run_solver(quick=quick, progress=status.update)
    if plot is not None:
        from unmixnet.bench.figure import draw_work_precision

        draw_work_precision(result, plot)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(result, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        emit(result)
    else:
        _show(result)


def _show(result: dict) -> None:
    ratio = {(r["odorants"], r["batch"], r["pass"]): r["plain_over_default"] for r in result["ratios"]}
    rows = []
    for row in result["rows"]:
        key = (row["odorants"], row["batch"], row["pass"])
        rows.append(
            [
                row["path"] + ("*" if row.get("extrapolated") else ""),
                str(row["odorants"]),
                str(row["batch"]),
                row["pass"].replace("forward+backward", "fwd+bwd"),
                f"{1e3 * row['seconds_per_sample']:.3g}",
                f"{row['samples_per_second']:.4g}",
                f"{row['memory_bytes'] / 1e6:.3g}" if row["memory_bytes"] else "–",
                f"{ratio[key]:.1f}" if row["path"] == "default" else "",
            ]
        )
    columns = ["path", "K", "batch", "pass", "ms/sample", "samples/s", "MB", "× plain"]
    table("Solver: 8 cells, 4 sensors, 100 steps, float32", columns, rows)
    for entry in result["work_precision"]:
        lines = [
            [
                f"{line['error']:.0e}",
                f"{line['default_samples_per_second']:.4g}",
                f"{line['radau_samples_per_second']:.4g}",
                f"{line['default_over_radau']:.0f}",
            ]
            for line in entry["equal_error"]
        ]
        columns = ["error", "default [samples/s]", "Radau [samples/s]", "ratio"]
        table(f"At equal error, {entry['odorants']} odorants, batch 32", columns, lines)
    best = max(result["gemm_fraction"], key=lambda line: line["fraction"])
    say(
        f"Flux products reach {100 * best['fraction']:.1f} % of a large product's "
        f"{result['gemm']['gflop_per_s']:.0f} GFLOP/s ({best['odorants']} odorants, "
        f"batch {best['batch']}, {best['pass']}). {result['bound']}"
    )

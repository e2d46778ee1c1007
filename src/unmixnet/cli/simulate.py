"""`unmixnet simulate FILE.toml -o OUT.parquet`."""

from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import figure_path, message, print_json, spinner

__all__ = ["simulate"]


def simulate(
    file: Annotated[Path, typer.Argument(help="Simulation file (TOML).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Parquet file for the trajectories.")],
    plot: Annotated[Path | None, typer.Option(callback=figure_path, help="Also draw them into this file.")] = None,
    final: Annotated[
        Path | None, typer.Option(help="Save the last state here (.npz), to start another run from.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as one JSON object.")] = False,
) -> None:
    """Simulate release, transport, adsorption and readout in a chamber that a TOML file describes."""
    from unmixnet.simulation.config import load_simulation
    from unmixnet.simulation.output import summary, write_parquet
    from unmixnet.simulation.simulate import simulate as run

    config = load_simulation(file)
    with spinner(f"simulating {config.run.duration_s:g} s"):
        result = run(config)
        write_parquet(result, output)
        if final is not None:
            from unmixnet.simulation.state_file import save_state

            save_state(result.final, final)
        if plot is not None:
            from unmixnet.simulation.plots import draw_simulation

            draw_simulation(result, plot, title=file.stem)
    if as_json:
        files = {"output": str(output), "plot": str(plot) if plot else None}
        print_json("unmixnet.simulate/1", summary(result) | files)
        return
    rejected = f" ({result.rejected} rejected)" if result.rejected else ""
    settled = "" if result.settled_s is None else f", steady after {result.settled_s:.4g} s"
    steps = f"{result.steps} steps{rejected}, {len(result.time_s)} rows, status {result.status}{settled}"
    message(f"{steps}: {output}" + (f" and {plot}" if plot else ""))

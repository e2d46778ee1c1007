"""`unmixnet demo`: release three odorants into a chamber with four sensors and look at everything."""

from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import busy, emit, say, table

__all__ = ["demo"]


def demo(
    output: Annotated[Path, typer.Option(help="Where the figure goes.")] = Path("out/demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the closure as one JSON object.")] = False,
) -> None:
    """Release three odorants into a small e-nose, print how well the physics closes, draw one figure."""
    from unmixnet.config import parse_simulation
    from unmixnet.examples import example
    from unmixnet.plots.simulation import draw_simulation
    from unmixnet.simulation import simulate
    from unmixnet.table import closure_rows, summary

    config = parse_simulation(example("enose"), name="enose.toml")
    with busy("releasing ethanol, limonene and benzaldehyde (the first run compiles for a few seconds)"):
        result = simulate(config)
        draw_simulation(result, output, title="Three odorants in a hand-held e-nose")
    if as_json:
        emit({**summary(result), "figure": str(output)})
        return
    table(
        f"Does it close? {len(result.time_s)} steps, {len(result.chamber.cells)} cells, "
        f"{len(result.chamber.sensors)} sensors, {', '.join(result.species[1:])} in {result.species[0]}",
        ["law", "worst value", "should be", "what it means"],
        closure_rows(result),
    )
    say(f"\nFigure: [bold]{output}[/]. Next: unmixnet validate (the physics against published experiments).")

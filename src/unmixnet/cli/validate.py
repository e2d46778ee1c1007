"""`unmixnet validate`: the physics against published experiments and independent codes."""

from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import Styled, bold, figure_path, message, print_json, print_table, spinner
from unmixnet.files.provenance import provenance

__all__ = ["validate"]


def validate(
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as one JSON object.")] = False,
    figure: Annotated[Path, typer.Option(callback=figure_path, help="Where the Duncan–Toor figure goes.")] = Path(
        "out/duncan_toor.png"
    ),
) -> None:
    """Run every oracle: value, expected, tolerance, passed; exit 1 if one fails."""
    from unmixnet.simulation.validation import ORACLES, run

    checks, missing = [], []
    for name in ORACLES:
        with spinner(f"{name.split('.')[1]} ({len(checks)} checks so far)"):
            try:
                checks += run(name)
            except ModuleNotFoundError as error:
                missing.append({"oracle": name, "needs": error.name})
    with spinner("drawing the two bulbs"):
        from unmixnet.simulation.validation.duncan_toor_plot import draw_duncan_toor

        draw_duncan_toor(figure)
    failed = [check for check in checks if not check.passed]
    if as_json:
        rows = [check.row() for check in checks]
        results = {"passed": not failed, "checks": rows, "not_run": missing, "figure": str(figure)}
        print_json("unmixnet.validate/1", provenance("unmixnet validate --json") | results)
    else:
        _print(checks)
        for gap in missing:
            remedy = f" {gap['oracle']} needs {gap['needs']}. Try: pip install 'unmixnet[test]'"
            message(Styled("not run:", "yellow"), remedy)
        message(f"{len(checks) - len(failed)} of {len(checks)} passed. Figure: {figure}")
    raise typer.Exit(1 if failed else 0)


def _print(checks: list) -> None:
    rows, last = [], ""
    for check in checks:
        mark = Styled("yes", "green") if check.passed else Styled("NO", "bold red")
        label = [*([bold(check.oracle), "\n"] if check.oracle != last else []), f"  {check.name}"]
        last = check.oracle
        rows.append([label, f"{check.value:.6g}", f"{check.expected:.6g}", f"{check.tolerance:.1e}", mark])
    print_table(
        "The physics against published experiments", ["check", "value", "expected", "tolerance", "passed"], rows
    )

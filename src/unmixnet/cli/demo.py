"""`unmixnet demo`: unmix a packaged recording whose mixture is known, and write the report."""

from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import bold, message, print_json, spinner

__all__ = ["demo"]

BUNDLE = "simulated"


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("out/demo"),
    refine: Annotated[int, typer.Option(min=0, metavar="N", help="Gradient steps through the solver.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """Unmix a recording of a simulated e-nose: shares, intervals, the trace that the physics makes of them, a page."""
    from unmixnet.examples import example_recording
    from unmixnet.inference.bundle import load_model
    from unmixnet.inference.report import print_answer, to_json, write_report
    from unmixnet.inference.unmix import unmix
    from unmixnet.recordings.reader import read_recording

    file = example_recording()
    with spinner(f"unmixing {file.name} (the first run compiles for some seconds)"):
        answer = unmix(load_model(BUNDLE), read_recording(file), refine=refine)
        page = write_report(answer, output)
    if as_json:
        print_json("unmixnet.demo/1", to_json(answer) | {"report": str(page)})
        return
    print_answer(answer)
    message(
        "\nThe recording was made by the solver on finer cells: 50 % peach, 50 % garlic, a mixture and a session that "
        "the model never saw.\nReport: ",
        bold(page),
        " (open it in a browser). "
        "Next: unmixnet unmix FILE.csv, or unmixnet validate (the physics against published experiments).",
    )

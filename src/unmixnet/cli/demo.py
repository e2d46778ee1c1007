"""`unmixnet demo`: unmix a packaged recording whose mixture is known, and write the report."""

from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import busy, emit, say

__all__ = ["demo"]

BUNDLE = "simulated"


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("out/demo"),
    refine: Annotated[int, typer.Option(min=0, metavar="N", help="Gradient steps through the solver.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """Unmix a recording of a simulated e-nose: shares, intervals, the trace that the physics makes of them, a page."""
    from unmixnet.examples import example_recording
    from unmixnet.inference.bundle import find_bundle, load_bundle
    from unmixnet.inference.report import show, to_json, write_report
    from unmixnet.inference.unmix import unmix
    from unmixnet.recordings.reader import read_recording

    file = example_recording()
    with busy(f"unmixing {file.name} (the first run compiles for some seconds)"):
        answer = unmix(load_bundle(find_bundle(BUNDLE)), read_recording(file), refine=refine)
        page = write_report(answer, output)
    if as_json:
        emit({**to_json(answer), "report": str(page)})
        return
    show(answer)
    say(
        f"\nThe recording was made by the solver on finer cells: 50 % peach, 50 % garlic, a mixture and a session that "
        f"the model never saw.\nReport: [bold]{page}[/] (open it in a browser). "
        "Next: unmixnet unmix FILE.csv, or unmixnet validate (the physics against published experiments)."
    )

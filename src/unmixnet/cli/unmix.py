"""`unmixnet unmix FILE…`: what is in a recording, in which proportions, and by which physical process."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmixnet.cli.output import bold, error_message, message, print_json, spinner

if TYPE_CHECKING:
    from unmixnet.inference.bundle import Bundle
    from unmixnet.inference.report import Answer
    from unmixnet.inference.session import SessionCalibration

__all__ = ["unmix"]

DEFAULT = "smellnet-mixture"


def unmix(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Recordings.")],
    model: Annotated[str, typer.Option("--model", metavar="DIR|NAME", help="Folder or name of a bundle.")] = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    states: Annotated[bool, typer.Option("--states", help="With --json, the inferred states too.")] = False,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a page that explains the answer.")] = None,
    refine: Annotated[
        int, typer.Option(min=0, metavar="N", help="Gradient steps through the solver on the answer.")
    ] = 0,
    session: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Calibration of today's sensors, from `unmixnet calibrate-session`."),
    ] = None,
) -> None:
    """Estimate the shares of a mixture with 90 % intervals, or report that nothing, or nothing known, is there.

    Exit code 2 if a file could not be answered; the others are.
    """
    from unmixnet.inference.report import print_answer, to_json

    with spinner("opening the model"):
        from unmixnet.inference.bundle import load_model

        bundle = load_model(model)
    calibration = None if session is None else _session(bundle, session)
    answers: list[dict[str, Any]] = []
    for file in files:
        answer = _answer(bundle, file, refine, calibration)
        if isinstance(answer, str):
            answers.append({"recording": str(file), "error": answer})
            continue
        page = None if report is None else _report(answer, report if len(files) == 1 else report / file.stem)
        values = to_json(answer, states=states)
        answers.append(values if page is None else {**values, "report": str(page)})
        if not as_json:
            if len(files) > 1:
                message("\n", bold(file.name))
            print_answer(answer)
            if page is not None:
                message(f"Report: {page}")
    if as_json:
        print_json("unmixnet.unmix/1", {"model": bundle.name, "digest": bundle.digest, "answers": answers})
    raise typer.Exit(2 if any("error" in answer for answer in answers) else 0)


def _session(bundle: "Bundle", file: Path) -> "SessionCalibration":
    from unmixnet.cli.calibrate_session import read_session

    calibration = read_session(file)
    calibration.check(bundle)
    return calibration


def _answer(bundle: "Bundle", file: Path, refine: int, session: "SessionCalibration | None") -> "Answer | str":
    """The answer, or the message of the error, which is printed."""
    from unmixnet.errors import UnmixError
    from unmixnet.inference.unmix import unmix as run
    from unmixnet.recordings.reader import read_recording

    try:
        recording = read_recording(file)
        with spinner(f"unmixing {file.name} (the first one compiles for some seconds)"):
            return run(bundle, recording, refine=refine, session=session)
    except UnmixError as error:
        error_message(error)
        return str(error)


def _report(answer: "Answer", folder: Path) -> Path:
    from unmixnet.inference.report import write_report

    return write_report(answer, folder)

"""`unmixnet calibrate-session MODEL REFERENCE…`: adapt a model to today's sensors with a few known recordings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmixnet.cli.output import bold, message, print_json, print_table, spinner

if TYPE_CHECKING:
    from unmixnet.inference.session import SessionCalibration
    from unmixnet.recordings.recording import Recording

__all__ = ["calibrate_session", "read_session"]


def calibrate_session(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder or name of a bundle.")],
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REFERENCE[=LABEL]]…",
            help="Recordings of known mixtures, e.g. a.csv=mango_20_strawberry_80; without =LABEL, the file name.",
        ),
    ] = None,
    clean_air: Annotated[
        list[Path] | None,
        typer.Option("--clean-air", metavar="FILE", help="A recording of clean air; may be repeated."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="auto, none, offset, prototype, gain, ridge, solver or clean-air.")
    ] = "auto",
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the calibration goes.")] = Path(
        "session.json"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as one JSON object.")] = False,
) -> None:
    """Find gains and offsets of the sensors in this session; use them with `unmixnet unmix --session FILE`."""
    with spinner("opening the model"):
        from unmixnet.inference.bundle import load_model
        from unmixnet.inference.session import fit_session
        from unmixnet.recordings.reader import read_recording

        bundle = load_model(model)
    known = [_reference(text) for text in references or []]
    clean = [read_recording(file) for file in clean_air or []]
    with spinner("calibrating (the first time compiles for some seconds)"):
        calibration = fit_session(bundle, known, clean, method=method)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(calibration.to_text() + "\n", encoding="utf-8")
    if as_json:
        values = calibration.to_json()
        print_json(values.pop("schema"), values | {"file": str(output)})
    else:
        _show(calibration, output)


def read_session(path: Path) -> "SessionCalibration":
    """The calibration in a file."""
    from unmixnet.files.reading import read_text
    from unmixnet.inference.session import SessionCalibration

    return SessionCalibration.from_text(read_text(path))


def _reference(text: str) -> "Recording":
    """A recording with its label: after the last `=`, or from the name of the file."""
    from dataclasses import replace

    from unmixnet.errors import ConfigError
    from unmixnet.recordings.labels import parse_label
    from unmixnet.recordings.reader import read_recording

    path, _, written = text.rpartition("=")
    if not path or Path(text).is_file():
        path, written = text, Path(text).name.split(".")[0]
    label = parse_label(written)
    if label is None:
        raise ConfigError(
            f"{written!r} names no mixture",
            where=path,
            remedy="Write FILE=mango_20_strawberry_80, or name the file like that",
        )
    return replace(read_recording(path), label=label)


def _show(calibration: "SessionCalibration", output: Path) -> None:
    rows = [
        [name, f"{gain:.3f}", f"{offset:+.3f}"]
        for name, gain, offset in zip(calibration.channels, calibration.gain, calibration.offset, strict=True)
    ]
    print_table(f"Session calibration, {calibration.method}", ["sensor", "gain", "offset [sd]"], rows)
    if calibration.references and calibration.before == calibration.before:
        how = "on references left out of the fit" if calibration.left_out else "on the reference that it was fitted to"
        message(f"Mean error of the shares {how}: {calibration.before:.3f} before, {calibration.after:.3f} after.")
    if calibration.method == "none":
        message("No calibration made the references better, so this one changes nothing.")
    message(f"Next: unmixnet unmix FILE --model {calibration.bundle} --session ", bold(output))

"""`unmixnet export MODEL --onnx FILE`: a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import Styled, bold, message, print_json, spinner

__all__ = ["export"]


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder or name of a bundle.")],
    onnx: Annotated[Path, typer.Option("--onnx", metavar="FILE", help="Write the model as ONNX.")],
    solver: Annotated[bool, typer.Option("--solver", help="The solver too, not the encoder alone.")] = False,
    windows: Annotated[int, typer.Option(min=1, help="Windows on which the file is checked.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a model as ONNX and check it against ONNX Runtime; a file whose outputs differ is not written."""
    with spinner("exporting (this takes a minute)"):
        from unmixnet.inference.bundle import load_model
        from unmixnet.inference.onnx.export import export_onnx

        bundle = load_model(model)
        exported = export_onnx(bundle, onnx, solver=solver, windows=windows)
    if as_json:
        values = {
            "model": bundle.name,
            "digest": bundle.digest,
            "file": str(exported.path),
            "bytes": exported.size,
            "windows": exported.windows,
            "difference": exported.difference,
            "differences": exported.checked.differences,
            "solver": solver,
        }
        print_json("unmixnet.export/1", values)
        return
    message(
        bold(exported.path),
        f" ({exported.size / 1e6:.2f} MB): the {'encoder and solver' if solver else 'encoder'} of {bundle.name}, for "
        f"any number of windows. ONNX Runtime and jax differ by at most {exported.difference:.1e} on "
        f"{exported.windows} windows. Its metadata say how to use it; docs/export.md has an example without unmixnet.",
    )
    if solver:
        warning = "ONNX has no dense solve: where direct_solves is not 0, do not trust the reconstruction."
        message(Styled(warning, "dim"))

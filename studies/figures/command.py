"""`python -m studies figures`: every figure, its caption, and the failure analysis."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from studies.options import RESULTS, AsJson, Data, WorkIn, store

__all__ = ["figures"]

_PICTURES = Path("docs/img")


def figures(
    data: Data = None,
    work: WorkIn = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this figure, or failures for all of those; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help=f"Folder for the pictures; in a checkout, {_PICTURES}.")] = None,
    redraw: Annotated[bool, typer.Option(help="Compute nothing: draw from the stored results.")] = False,
    as_json: AsJson = False,
) -> None:
    """Figures: system, solver, reconstruction, fingerprints, recovery; and where answers fail."""
    from studies.figures.gallery import COMMAND, FigureSources, chosen_figures, make_figures
    from unmixnet.cli.output import progress
    from unmixnet.errors import ConfigError
    from unmixnet.files.provenance import provenance

    if out is None and not _PICTURES.parent.is_dir():
        raise ConfigError("there is no folder docs here", remedy="Name a folder for the pictures with --out")
    names, folder = chosen_figures(tuple(only or ())), out or _PICTURES
    with progress() as display:
        sources = FigureSources(data, work or Path("out/reproduce/smellnet"), RESULTS, display, redraw=redraw)
        made = make_figures(names, sources, folder)
    captions, file = {figure.name: figure.caption.to_json() for figure in made}, folder / "fig_captions.json"
    others = json.loads(file.read_text()) if only and file.is_file() else {}
    file.write_text(json.dumps(others | captions, indent=1, ensure_ascii=False) + "\n")
    result = provenance(COMMAND, captions=captions)
    if "reconstruction" in names:
        result["reconstruction"] = sources.reconstruction
    if out is None and not only:
        store(result, RESULTS / "figures.json")
        if not redraw:
            store(sources.failures, RESULTS / "failures.json")
    if as_json:
        print(json.dumps(result | {"pictures": {figure.name: str(figure.path) for figure in made}}, indent=1))
        return
    for figure in made:
        print(f"{figure.path}: {figure.caption.title}. {figure.caption.shows}\n  {figure.caption.change}\n")
    print(f"Wrote {len(made)} pictures to {folder}", file=sys.stderr)

"""`python -m studies ablation`: what each rule of the model is worth."""

import json
from pathlib import Path
from typing import Annotated

import typer

from studies.options import (
    RESULTS,
    Add,
    AsJson,
    Data,
    Done,
    Only,
    OnRay,
    Out,
    Quick,
    Seeds,
    Stale,
    Studied,
    WorkIn,
    keep,
    print_tables,
    selection,
)

__all__ = ["ablation"]

Drawn = Annotated[Path | None, typer.Option("--figure", help="Also draw the laws from 1 ppm to half of the air here.")]


def ablation(
    data: Data = None,
    only: Only = None,
    study: Studied = None,
    seeds: Seeds = 3,
    quick: Quick = False,
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    add: Add = False,
    ray: OnRay = None,
    figure: Drawn = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """One rule switched off at a time: on new mixtures, on real recordings, and under strong diffusive coupling."""
    from studies.ablation.ablation import gather_ablation
    from studies.harness.definitions import chosen
    from studies.harness.jobs import Options
    from studies.harness.progress import Display
    from studies.harness.work import Work

    target = out or RESULTS / "ablation.json"
    # the model without a change is that of `reproduce smellnet`, trained once
    kept = Work(work or Path("out/reproduce/smellnet"), stale=stale)
    command = f"python -m studies ablation --seeds {seeds}" + (" --quick" if quick else "")
    command += selection(only, study)
    options = Options(1 if quick else seeds, quick=quick, ray=ray)
    studies = chosen("ablation", tuple(study or ()), tuple(only or ()))
    with Display() as watch:
        study_result = gather_ablation(command, studies, data, kept, options, watch, finished=finished)
    study_result = keep(study_result, target, "ablation", add=add, part=out is None and bool(only or study or quick))
    if figure is not None:
        from studies.ablation.coupling import draw_coupling

        draw_coupling(study_result.result["coupling"], figure)
    if as_json:
        print(json.dumps(study_result.result, indent=1))
    else:
        print_tables(study_result.result["rows"])

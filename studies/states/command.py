"""`python -m studies states`: are the states that models imply a coherent process?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from studies.options import RESULTS, AsJson, Data, Done, Only, Out, Quick, Seeds, Stale, WorkIn, print_tables, store

__all__ = ["states"]


def states(
    data: Data = None,
    only: Only = None,
    world: Annotated[list[str] | None, typer.Option(help="Only this world: real, frozen or sips.")] = None,
    sim: Annotated[Path | None, typer.Option(help="Folder of a frozen simulator; else one is calibrated.")] = None,
    seeds: Seeds = 3,
    quick: Quick = False,
    figures: Annotated[Path | None, typer.Option(help="Folder for pictures.")] = None,
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """States beside two simulators: concentration, flux, coverage, mass, and whether the laws hold."""
    from studies.harness.jobs import Options
    from studies.harness.progress import Display
    from studies.harness.work import Work
    from studies.states.figures import draw_states
    from studies.states.gather import gather_states
    from studies.states.worlds import WORLDS, simulator_for
    from unmixnet.errors import ConfigError

    for name in world or ():
        if name not in WORLDS:
            raise ConfigError(f"no world {name!r}", remedy=f"Choose among {', '.join(WORLDS)}")
    folder, options = work or Path("out/reproduce/states"), Options(1 if quick else seeds, quick=quick)
    target = out or (None if only or world or quick else RESULTS / "states.json")
    command = f"python -m studies states --seeds {options.seeds}" + (" --quick" if quick else "")
    with Display() as watch:
        result, judged = gather_states(
            simulator_for(sim, folder, data),
            data,
            Work(folder, stale=stale),
            options,
            command=command,
            models=tuple(only or ()),
            worlds=tuple(world or WORLDS),
            store=lambda result: store(result, target),
            watch=watch,
            finished=finished,
        )
    if figures:
        draw_states(judged, Work(folder, stale=stale), options, data, figures)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(result["rows"])

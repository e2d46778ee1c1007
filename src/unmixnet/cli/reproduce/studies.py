"""`unmixnet reproduce simulated` and `smellnet`: every model on every protocol."""

import json
from pathlib import Path

from unmixnet.cli.reproduce.options import (
    RESULTS,
    Again,
    AsJson,
    Data,
    Done,
    Only,
    OnRay,
    Out,
    Quick,
    Seeds,
    Sized,
    Stale,
    Studied,
    WorkIn,
    print_tables,
    store,
)

__all__ = ["run_study", "simulated", "smellnet"]


def simulated(
    only: Only = None,
    study: Studied = None,
    seeds: Seeds = 3,
    quick: Quick = False,
    size: Sized = "small",
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    from_predictions: Again = False,
    ray: OnRay = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Every model where the physics is true: 12 substances, 4 and 8 sensors, new sessions and new mixtures."""
    run_study(
        "simulated", None, only, study, seeds, quick, size, work, stale, finished, from_predictions, as_json, out, ray
    )


def smellnet(
    data: Data = None,
    only: Only = None,
    study: Studied = None,
    seeds: Seeds = 1,
    quick: Quick = False,
    size: Sized = "small",
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    from_predictions: Again = False,
    ray: OnRay = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Every model on SmellNet: official and clean splits, new sessions, new mixtures, 50 substances."""
    run_study(
        "smellnet", data, only, study, seeds, quick, size, work, stale, finished, from_predictions, as_json, out, ray
    )


def run_study(
    name: str,
    data: Path | None,
    only: list[str] | None,
    study: list[str] | None,
    seeds: int,
    quick: bool,
    size: str,
    work: Path | None,
    stale: bool,
    finished: bool,
    from_predictions: bool,
    as_json: bool,
    out: Path | None,
    ray: str | None = None,
) -> None:
    """Run studies, or score their stored predictions; a part of them is stored only where `--out` says."""
    from unmixnet.errors import ConfigError
    from unmixnet.reproduce import evidence
    from unmixnet.reproduce.display import Display
    from unmixnet.reproduce.predictions import write_predictions
    from unmixnet.reproduce.run import Options
    from unmixnet.reproduce.studies import chosen
    from unmixnet.reproduce.work import Work

    if size not in ("small", "paper"):
        raise ConfigError(f"no size {size!r}", remedy="Choose small or paper")
    title = name if size == "small" else f"{name}-{size}"
    target = out or RESULTS / f"{title}.json"
    beside = target.parent / "predictions" / f"{target.stem}.parquet"
    folder = work or Path("out/reproduce") / name
    command = f"unmixnet reproduce {name} --seeds {seeds}" + (" --quick" if quick else "")
    command += "" if size == "small" else f" --size {size}"
    if from_predictions or (as_json and not folder.exists() and beside.is_file()):
        result = evidence.from_predictions(f"unmixnet reproduce {name} --from-predictions", beside, target)
    else:
        options = Options(1 if quick else seeds, size, quick, ray=ray)
        studies = chosen(name, tuple(study or ()), tuple(only or ()))
        with Display() as watch:
            found = evidence.gather(
                command, studies, data, Work(folder, stale=stale), options, watch, finished=finished
            )
        result = found.result
        if out or not (only or study or quick):
            store(result, target)
            if target.is_file():
                write_predictions(beside, found.answers)
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(result["rows"])

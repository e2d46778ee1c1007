"""`python -m studies smellnet`, `simulated`, `audit` and `bundles`: the data, and every model on every protocol."""

import json
from pathlib import Path

from studies.options import (
    RESULTS,
    Add,
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
    beside,
    keep,
    print_tables,
    selection,
    store,
)

__all__ = ["audit", "bundles", "run_study", "simulated", "smellnet"]


def simulated(
    only: Only = None,
    study: Studied = None,
    seeds: Seeds = 3,
    quick: Quick = False,
    size: Sized = "small",
    work: WorkIn = None,
    stale: Stale = False,
    finished: Done = False,
    add: Add = False,
    from_predictions: Again = False,
    ray: OnRay = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Every model where the physics is true: 12 substances, 4 and 8 sensors, new sessions and new mixtures."""
    run_study("simulated", data=None, **locals())  # the options, as they are named above


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
    add: Add = False,
    from_predictions: Again = False,
    ray: OnRay = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Every model on SmellNet: official and clean splits, new sessions, new mixtures, 50 substances."""
    run_study("smellnet", **locals())


def run_study(
    name: str,
    *,
    data: Path | None,
    only: list[str] | None,
    study: list[str] | None,
    seeds: int,
    quick: bool,
    size: str,
    work: Path | None,
    stale: bool,
    finished: bool,
    add: bool,
    from_predictions: bool,
    as_json: bool,
    out: Path | None,
    ray: str | None,
) -> None:
    """Run studies, or score their stored predictions; a part of them is stored only where `--out` or `--add` says."""
    from studies.harness.definitions import chosen
    from studies.harness.jobs import Options
    from studies.harness.progress import Display
    from studies.harness.results import from_predictions as rows_from_predictions
    from studies.harness.results import gather
    from studies.harness.work import Work
    from unmixnet.errors import ConfigError

    if size not in ("small", "paper"):
        raise ConfigError(f"no size {size!r}", remedy="Choose small or paper")
    title = name if size == "small" else f"{name}-{size}"
    target = out or RESULTS / f"{title}.json"
    folder = work or Path("out/reproduce") / name
    command = f"python -m studies {name} --seeds {seeds}" + (" --quick" if quick else "")
    command += ("" if size == "small" else f" --size {size}") + selection(only, study)
    if add and from_predictions:
        raise ConfigError("stored predictions are there already", remedy="Leave out --add or --from-predictions")
    if from_predictions or (as_json and not folder.exists() and beside(target).is_file()):
        result = rows_from_predictions(f"python -m studies {name} --from-predictions", beside(target), target)
    else:
        options = Options(1 if quick else seeds, size, quick, ray=ray)
        studies = chosen(name, tuple(study or ()), tuple(only or ()))
        with Display() as watch:
            study_result = gather(command, studies, data, Work(folder, stale=stale), options, watch, finished=finished)
        part = out is None and bool(only or study or quick)
        result = keep(study_result, target, name, add=add, part=part).result
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(result["rows"])


def audit(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The audit of SmellNet, in the numbers that the documentation quotes; half a minute."""
    from studies.smellnet.audit import reproduce_audit
    from unmixnet.cli.output import progress
    from unmixnet.files.provenance import provenance

    with progress() as display:
        study_result = reproduce_audit(data, progress=display)
    result = provenance("python -m studies audit", datasets=study_result)
    store(result, out or RESULTS / "audit.json")
    print(
        json.dumps(result, indent=1) if as_json else "\n".join(str(item["headline"]) for item in study_result.values())
    )


def bundles(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The shipped bundles on recordings that they have not seen: errors, coverage and width of the intervals."""
    from studies.smellnet.bundles import shipped_scores
    from unmixnet.cli.output import progress
    from unmixnet.files.provenance import provenance

    result = provenance("python -m studies bundles", tests=[])
    with progress() as display:
        result["tests"] += shipped_scores(data, display)
    store(result, out or RESULTS / "bundles.json")
    if as_json:
        print(json.dumps(result, indent=1))
        return
    for test in result["tests"]:
        print(
            f"{test['bundle']} on {test['split']}, {test['recordings']} recordings: intervals of 90 % hold "
            f"{100 * test['coverage']:.0f} % of all shares, {100 * test['covered_present']:.0f} % of those that are "
            f"there; their mean width is {test['width']:.2f}"
        )

"""`python -m studies uci`: gases of known concentration."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from studies.options import RESULTS, AsJson, Data, Out, Seeds, WorkIn, print_tables, store
from unmixnet.errors import ConfigError
from unmixnet.inference.scores import Row
from unmixnet.recordings.location import data_root

__all__ = ["NAMES", "gather_uci", "reproduce_uci", "uci"]


def uci(
    data: Data = None,
    only: Annotated[list[str] | None, typer.Option(help="Run only this table: plateaus, traces or dynamic.")] = None,
    seeds: Seeds = 10,
    hours: Annotated[float, typer.Option(min=0.02, help="Length of generated recordings.")] = 12.0,
    rate: Annotated[float, typer.Option(min=1, max=100, help="Rows a second of generated recordings.")] = 100.0,
    figures: Annotated[Path | None, typer.Option(help="Folder for pictures.")] = None,
    resume: Annotated[bool, typer.Option(help="Keep the tables that the file already has.")] = False,
    work: WorkIn = None,
    as_json: AsJson = False,
    out: Out = None,
) -> None:
    """Gases whose concentration is known: real plateaus, real traces, the paper's tables on generated recordings."""
    from unmixnet.cli.output import progress

    target = out or (None if only else RESULTS / "uci.json")
    kept = json.loads(target.read_text()) if resume and target and target.is_file() else None
    with progress() as display:
        result = gather_uci(
            data,
            store=lambda result: store(result, target),
            only=tuple(only or ()),
            kept=kept,
            seeds=seeds,
            hours=hours,
            rate_Hz=rate,
            work=work or Path("out/reproduce/uci"),
            figures=figures,
            progress=display,
        )
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print_tables(result["rows"])


Progress = Callable[[str, int], Callable[[], None]]
NAMES = ("plateaus", "traces", "dynamic")
"""What `--only` may name."""
FILES = ("ethylene_methane.txt", "ethylene_CO.txt")
_QUIET: Progress = lambda name, steps: lambda: None  # noqa: E731
_MOST_STEPS, _MOST_EPOCHS = 200, 150


def reproduce_uci(
    root: str | Path | None,
    *,
    seeds: int = 10,
    only: Sequence[str] = (),
    hours: float = 12.0,
    rate_Hz: float = 100.0,
    work: Path = Path("out/reproduce/uci"),
    figures: Path | None = None,
    progress: Progress = _QUIET,
) -> Iterator[tuple[str, list[Row], dict[str, Any]]]:
    """Run the tables (all, or only the named ones); give each with its rows and what stands beside them.

    Arguments:
        root: the data folder; for the dynamic tables its `uci322/` may hold the original texts, which are then used.
        seeds: for each model that has one.
        hours, rate_Hz: of generated recordings.
        work: where generated recordings and 1 Hz views are kept.
        figures: folder for pictures; none are drawn without it.
    """
    for name in only:
        if name not in NAMES:
            raise ConfigError(f"no table {name!r}", remedy=f"Choose among {', '.join(NAMES)}")
    for name in only or NAMES:
        if name == "plateaus":
            yield name, *_plateaus(root, seeds, figures, progress)
        elif name == "traces":
            yield name, *_traces(root, figures, progress)
        else:
            yield name, *_dynamic(root, hours, rate_Hz, work, figures, progress)


def gather_uci(
    root: str | Path | None,
    *,
    store: Callable[[dict[str, Any]], None],
    only: Sequence[str] = (),
    kept: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The content of `uci.json`: commit, date, machine and command, every row, and what stands beside; grows by tables.

    Arguments:
        store: called with the content after every table.
        only: tables to run; all that `kept` lacks if empty.
        kept: content of an earlier run, whose other tables stay.
        options: as in `reproduce_uci`.
    """
    from unmixnet.files.provenance import provenance

    command = "python -m studies uci" + "".join(f" --only {name}" for name in only)
    result = provenance(command, earlier=[], tables=[], rows=[], beside={})
    todo = only or tuple(name for name in NAMES if not kept or name not in kept["tables"])
    if kept:
        stay = [name for name in kept["tables"] if name not in todo]
        result["earlier"] = [*kept["earlier"], {"commit": kept["commit"], "date": kept["date"], "tables": stay}]
        result["tables"], result["beside"] = [*stay], {name: kept["beside"][name] for name in stay}
        result["rows"] = [row for row in kept["rows"] if _table_of(row["protocol"]) in stay]
    for name, rows, details in reproduce_uci(root, only=todo, **options) if todo else ():
        result["tables"].append(name)
        result["rows"] += [asdict(row) for row in rows]
        result["beside"][name] = details
        store(result)
    return result


def _table_of(protocol: str) -> str:
    """The table that a row belongs to: `uci-plateaus:forward` to plateaus."""
    return protocol.removeprefix("uci-").partition(":")[0]


def _plateaus(
    root: str | Path | None, seeds: int, figures: Path | None, progress: Progress
) -> tuple[list[Row], dict[str, Any]]:
    from studies.uci.figures import draw_plateaus
    from studies.uci.plateau_table import parameters, plateau_rows, run_law

    tick = progress("plateaus: law and peers", 2)
    done = run_law(root)
    tick()
    rows = plateau_rows(done, seeds)
    tick()
    if figures:
        draw_plateaus(done, figures / "uci_plateaus.png")
    return rows, parameters(done)


def _traces(root: str | Path | None, figures: Path | None, progress: Progress) -> tuple[list[Row], dict[str, Any]]:
    from studies.uci.figures import draw_traces
    from studies.uci.trace_table import digitised_forecast, hundred_hertz_forecast, trace_parameters, trace_rows

    tick = progress("traces", 3)
    forecasts = []
    for make in (hundred_hertz_forecast, digitised_forecast):
        forecasts.append(make(root))
        tick()
    details = {
        forecast.name: trace_parameters(forecast, resamples=40 if len(forecast.trace.sensors) == 1 else 0)
        for forecast in forecasts
    }
    tick()
    if figures:
        draw_traces(forecasts, figures / "uci_traces.png")
    return [row for forecast in forecasts for row in trace_rows(forecast)], details


def _dynamic(
    root: str | Path | None, hours: float, rate_Hz: float, work: Path, figures: Path | None, progress: Progress
) -> tuple[list[Row], dict[str, Any]]:
    from studies.uci.dynamic_table import dynamic_rows, made_of, packaged_supervised, packaged_transfers
    from studies.uci.figures import draw_dynamic

    texts, label = _originals(root) or _generated(work, hours, rate_Hz, progress), "original"
    if texts[0].with_suffix(".truth.npz").is_file():
        label = "generated"
    models = packaged_transfers() | _baselines(root, work, progress)
    tick = progress("dynamic: every split and model", _MOST_STEPS)
    rows: list[Row] = []
    chosen = []
    shown = []
    for split, estimate, new in dynamic_rows(
        texts, made_of(models) | packaged_supervised(), cache=work / "cache", label=label, progress=lambda _: tick()
    ):
        rows += new
        chosen.append(
            {
                "protocol": new[0].protocol,
                "split": split.name,
                "model": estimate.model,
                "delay_s": estimate.delay_s,
                "threshold_ppm": estimate.threshold_ppm.tolist(),
            }
        )
        if split.name == "forward" and split.test.series.name == texts[0].stem:
            shown.append((split, estimate))
    if figures:
        draw_dynamic(shown, figures / "uci_dynamic.png")
    details = {"files": [text.name for text in texts], "truth": label == "generated", "hours": hours, "chosen": chosen}
    return rows, details


def _baselines(root: str | Path | None, work: Path, progress: Progress) -> dict[str, Any]:
    """Baselines trained on SmellNet, where that is at hand."""
    from studies.uci.transfer import BASELINES, pretrained

    if not (data_root(root) / "smellnet").is_dir():
        return {}
    return {
        title: pretrained(name, root, work, tick=progress(f"train {name} on SmellNet", _MOST_EPOCHS))
        for title, name in BASELINES.items()
    }


def _originals(root: str | Path | None) -> list[Path]:
    """The user's own original files, if both are there."""
    folder = data_root(root) / "uci322"
    originals = [folder / name for name in FILES]
    return originals if all(text.is_file() for text in originals) else []


def _generated(work: Path, hours: float, rate_Hz: float, progress: Progress) -> list[Path]:
    """Generated files, made once; a file of another length is made again."""
    import json

    from studies.uci.generate import write_recording
    from studies.uci.generated_rig import Rig

    rigs = (Rig(("methane", "ethylene")), Rig(("CO", "ethylene")))
    texts = [work / name for name in FILES]
    for text, rig in zip(texts, rigs, strict=True):
        made = {"rig": asdict(rig), "hours": hours, "rate_Hz": rate_Hz}
        note = text.with_suffix(".json")
        details = json.loads(note.read_text()) if note.is_file() and text.is_file() else None
        if details != json.loads(json.dumps(made)):
            tick = progress(f"generate {text.name}", round(hours * 60))
            write_recording(text, rig, hours=hours, rate_Hz=rate_Hz, progress=tick)
            note.write_text(json.dumps(made))
    return texts

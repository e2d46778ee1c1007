"""`unmixnet train CONFIG.toml`: train, calibrate, and write a bundle."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmixnet.cli.output import busy, emit, say, table

if TYPE_CHECKING:
    from unmixnet.training.config import TrainConfig
    from unmixnet.training.trainer import Fit

__all__ = ["train"]

Watch = Callable[[dict[str, Any]], None]


def train(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.toml]", help="Training file; --folder alone needs none.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder of the run; runs/CONFIG if not given.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the one in the file.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder of your own recordings, for the protocols folder:…, or without a training file."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder; else the variable UNMIXNET_DATA.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a model and write it as a bundle, with its validation score beside null baselines.

    The folder of the run holds log.jsonl, checkpoint and bundle. Stop with Ctrl-C, continue with --resume: the result
    is the same to the last bit. With --folder and no training file the small preset learns all labelled recordings
    of the folder, and its score is that of recordings left out.
    """
    if config is None:
        from unmixnet.cli.lesson import learn_folder

        learn_folder(folder, output, seed=seed, resume=resume, as_json=as_json)
        return
    from unmixnet.training.config import load_training

    chosen = _with(load_training(config), seed, folder)
    run = output or Path("runs") / config.stem
    _check_free(run, resume)
    with busy("starting"):
        from unmixnet.inference.precision import single_precision
    again = f"unmixnet train {config} -o {run} --resume"
    try:
        with single_precision():
            result, fit = _run(chosen, config.stem, run, resume, data)
    except KeyboardInterrupt:  # outside an epoch: while reading, or while calibrating
        say(f"Stopped. Continue with [bold]{again}[/]")
        raise typer.Exit(130) from None
    if as_json:
        emit(result)
    elif not fit.interrupted:
        _show(result, fit)
    if fit.interrupted:
        say(f"Stopped after epoch {fit.epochs}; everything is saved. Continue with [bold]{again}[/]")
        raise typer.Exit(130)


def _with(config: "TrainConfig", seed: int | None, folder: Path | None) -> "TrainConfig":
    """The configuration with what the command line says instead."""
    if seed is not None:
        config = config.model_copy(update={"training": config.training.model_copy(update={"seed": seed})})
    if folder is not None:
        config = config.model_copy(update={"data": config.data.model_copy(update={"folder": str(folder.resolve())})})
    return config


def _check_free(run: Path, resume: bool) -> None:
    from unmixnet.errors import ConfigError

    if not resume and any((run / name).exists() for name in ("checkpoint", "bundle")):
        raise ConfigError(
            "there is a run in this folder already",
            where=str(run),
            remedy="Add --resume to continue it, or choose another folder with -o",
        )


def _run(config: "TrainConfig", name: str, run: Path, resume: bool, data: Path | None) -> "tuple[dict[str, Any], Fit]":
    from dataclasses import asdict

    from unmixnet.cli.progress import stages
    from unmixnet.inference.bundle import save_bundle
    from unmixnet.training.make_bundle import make_bundle
    from unmixnet.training.run import prepare, train
    from unmixnet.training.sources import sources_of

    with stages() as progress:
        sources = sources_of(config, data, progress=progress)
    prepared = prepare(config, sources.train, sources.validation, sources.components, sources.sessions)
    with _epochs(config.training.epochs) as watch:
        fit = train(prepared, folder=run, resume=resume, watch=watch)
    result: dict[str, Any] = {
        "schema": "unmixnet.train/1",
        "run": str(run),
        "interrupted": fit.interrupted,
        "epochs": fit.epochs,
        "best_epoch": fit.best_epoch,
        "recordings": {"train": len(sources.train), "validation": len(sources.validation)},
    }
    if fit.interrupted:
        return result, fit
    with busy("calibrating on the validation recordings"):
        bundle, scores = make_bundle(name, prepared, fit, (*sources.train, *sources.validation))
        digest = save_bundle(run / "bundle", bundle)
    told = None if scores is None else asdict(scores)
    return {**result, "bundle": str(run / "bundle"), "digest": digest, "validation": told}, fit


@contextmanager
def _epochs(total: int) -> Iterator[Watch]:
    """A bar with the losses on a terminal, now and then a line elsewhere; on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("compiling", total=total)

        def watch(entry: dict[str, Any]) -> None:
            if "before" in entry:
                text = f"{entry['before']} {entry['step']}/{entry['of']}  {entry['value']:.3g}"
                bars.update(task, description=text)
                told = entry["step"] % 100 == 0 or entry["step"] == entry["of"]
            else:
                text = _losses(entry)
                bars.update(task, completed=entry["epoch"], description=text)
                text = f"{'all recordings, ' if 'refit' in entry else ''}epoch {entry['epoch']}/{total}  {text}"
                told = entry["epoch"] % 10 == 0 or entry["epoch"] in (1, total)
            if told and not console.is_terminal:
                print(text, file=sys.stderr, flush=True)

        yield watch


def _losses(entry: dict[str, Any]) -> str:
    """The validation score, where there is one (a share, never negative), and the parts of the loss."""
    parts = [f"{key} {value:.3g}" for key, value in entry.items() if key.startswith("L_")]
    score = [f"validation {entry['validation']:.4f} (best {entry['best']:.4f})"] if entry["validation"] >= 0 else []
    return "  ".join(score + parts)


def _show(result: dict[str, Any], fit: "Fit") -> None:
    from unmixnet.training.nulls import Scores

    if result["validation"] is not None:
        scores: Scores = Scores(**result["validation"])
        rows = [
            ["this model", f"{scores.model:.4f}"],
            ["mean of training", f"{scores.mean:.4f}"],
            ["nearest training recording", f"{scores.nearest:.4f}"],
        ]
        table(f"Validation, {scores.recordings} recordings", ["", scores.metric], rows)
    say(
        f"{fit.epochs} epochs, the best was {fit.best_epoch}. Bundle: [bold]{result['bundle']}[/]. "
        f"Next: unmixnet unmix FILE --model {result['bundle']}"
    )

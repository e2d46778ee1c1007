"""`unmixnet train CONFIG.toml`: train, calibrate, and write a bundle."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmixnet.cli.output import Bar, Styled, bold, message, print_json, print_table, progress, spinner

if TYPE_CHECKING:
    from unmixnet.recordings.recording import Recording
    from unmixnet.training.config import TrainConfig
    from unmixnet.training.few_shot import FewShotModel
    from unmixnet.training.few_shot import Watch as StageWatch
    from unmixnet.training.make_bundle import TrainedBundle

__all__ = ["learn_folder", "train"]

EpochWatch = Callable[[dict[str, Any]], None]
_SHOWN = 3
"""Labels with an odd sum that are named one by one."""


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
        learn_folder(folder, output, seed=seed, resume=resume, as_json=as_json)
        return

    from unmixnet.training.config import load_training

    chosen = _with(load_training(config), seed, folder)
    run = output or Path("runs") / config.stem
    _check_free(run, resume)
    again = f"unmixnet train {config} -o {run} --resume"
    try:
        trained = _run(chosen, config.stem, run, resume, data)
    except KeyboardInterrupt:  # outside an epoch: while reading, or while calibrating
        message("Stopped. Continue with ", bold(again))
        raise typer.Exit(130) from None
    if as_json:
        print_json("unmixnet.train/1", trained.to_json())
    elif not trained.fit.interrupted:
        _show(trained)
    if trained.fit.interrupted:
        message(f"Stopped after epoch {trained.fit.epochs}; everything is saved. Continue with ", bold(again))
        raise typer.Exit(130)


def _with(config: "TrainConfig", seed: int | None, folder: Path | None) -> "TrainConfig":
    """The configuration with the values of the command line."""
    if seed is not None:
        config = config.model_copy(update={"training": replace(config.training, seed=seed)})
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


def _run(config: "TrainConfig", name: str, run: Path, resume: bool, data: Path | None) -> "TrainedBundle":
    with spinner("starting"):
        from unmixnet.training.examples import training_recordings
        from unmixnet.training.make_bundle import train_bundle
    with progress() as display:
        sources = training_recordings(config, data, progress=display)
    _warn((*sources.train, *sources.validation))
    with _epochs(config.training.epochs) as (watch, calibrating):
        return train_bundle(config, sources, name, run, resume=resume, watch=watch, calibrating=calibrating)


@contextmanager
def _epochs(total: int) -> Iterator[tuple[EpochWatch, Callable[[], None]]]:
    """A bar with the losses on a terminal, now and then a line elsewhere; on stderr. And what to call after them."""
    with progress() as display:
        bar = display.bar("compiling", total)

        def watch(entry: dict[str, Any]) -> None:
            if "before" in entry:
                step, steps = entry["step"], entry["of"]
                text = f"{entry['before']} {step}/{steps}  {entry['value']:.3g}"
                bar.update(text)
                logged = step % 100 == 0 or step == steps
            else:
                epoch, losses = entry["epoch"], _losses(entry)
                bar.update("training", completed=epoch, note=losses)
                text = f"{'all recordings, ' if 'refit' in entry else ''}epoch {epoch}/{total}  {losses}"
                logged = epoch % 10 == 0 or epoch in (1, total)
            if logged:
                display.log(text)

        yield watch, lambda: bar.restart("calibrating on the validation recordings", None)


def _losses(entry: dict[str, Any]) -> str:
    """The validation score, where there is one (a share, never negative), and the parts of the loss."""
    parts = [f"{key} {value:.3g}" for key, value in entry.items() if key.startswith("L_")]
    score = [f"validation {entry['validation']:.4f} (best {entry['best']:.4f})"] if entry["validation"] >= 0 else []
    return "  ".join(score + parts)


def _show(trained: "TrainedBundle") -> None:
    fit, scores, bundle = trained.fit, trained.scores, trained.folder / "bundle"
    if scores is not None:
        rows = [
            ["this model", f"{scores.model:.4f}"],
            ["mean of training", f"{scores.mean:.4f}"],
            ["nearest training recording", f"{scores.nearest:.4f}"],
        ]
        print_table(f"Validation, {scores.recordings} recordings", ["", scores.metric], rows)
    message(
        f"{fit.epochs} epochs, the best was {fit.best_epoch}. Bundle: ",
        bold(bundle),
        f". Next: unmixnet unmix FILE --model {bundle}",
    )


def learn_folder(folder: Path | None, output: Path | None, *, seed: int | None, resume: bool, as_json: bool) -> None:
    """Read, teach, store, and report the score."""
    from unmixnet.errors import ConfigError

    if folder is None or resume:
        raise ConfigError(
            "there is no training file" if folder is None else "only a training with a training file can be resumed",
            remedy="Give a training file, or --folder with your recordings and their manifest.csv",
        )
    run = output or Path("runs") / folder.resolve().name
    if (run / "bundle").exists():
        raise ConfigError(
            "there is a model in this folder already", where=str(run), remedy="Choose another folder with -o"
        )
    recordings = _labelled(folder)
    _warn(recordings)
    with spinner("starting"):
        from unmixnet.training.few_shot import train_few_shot
    with _stage_bars() as watch:
        taught = train_few_shot(recordings, name=folder.resolve().name, folder=run, watch=watch, seed=seed or 0)
    if as_json:
        print_json("unmixnet.teach/1", taught.to_json())
    else:
        _show_lesson(taught)


def _labelled(folder: Path) -> "list[Recording]":
    from unmixnet.errors import ConfigError
    from unmixnet.recordings.datasets import load_dataset

    data = load_dataset("folder", folder)
    entries = [entry for entry in data.entries if entry.label is not None]
    if not entries:
        raise ConfigError(
            "no recording of this folder has a label",
            where=str(folder),
            remedy="List the recordings and their labels in manifest.csv",
        )
    return [data.read(entry) for entry in entries]


def _warn(recordings: "Sequence[Recording]") -> None:
    """Say what is odd about the labels and rates of training recordings."""
    from unmixnet.recordings.codes import Code
    from unmixnet.recordings.inspection import folder_findings

    sums = [finding for recording in recordings for finding in recording.found(Code.RATIO_SUM)]
    for finding in (*folder_findings(recordings), *sums[:_SHOWN]):
        message(Styled("Note: ", "yellow"), finding.message)
    if len(sums) > _SHOWN:
        message(f"{len(sums) - _SHOWN} more labels do not sum to 100; `unmixnet check` lists them.")


@contextmanager
def _stage_bars() -> "Iterator[StageWatch]":
    """A bar for each stage."""
    with progress() as display:
        bars: dict[str, Bar] = {}

        def watch(name: str, done: int, of: int) -> None:
            if name not in bars:
                display.log(f"{name} ({of} steps)")
                bars[name] = display.bar(name, of)
            bars[name].update(completed=done)

        yield watch


def _show_lesson(taught: "FewShotModel") -> None:
    rows = [
        ["this model", f"{taught.leave_one_out:.4f}"],
        ["nearest other recording", f"{taught.nearest:.4f}"],
        ["mean of the others", f"{taught.mean:.4f}"],
    ]
    print_table(f"{taught.recordings} recordings, {taught.how}", ["", "MAE"], rows)
    message("Bundle: ", bold(taught.folder), f". Next: unmixnet unmix FILE --model {taught.folder}")

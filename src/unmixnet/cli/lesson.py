"""`unmixnet train --folder DIR`: teach the small preset all labelled recordings of a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from unmixnet.cli.output import busy, emit, say, table

if TYPE_CHECKING:
    from unmixnet.recordings.recording import Recording
    from unmixnet.training.few_shot import Taught, Watch

__all__ = ["learn_folder"]


def learn_folder(folder: Path | None, output: Path | None, *, seed: int | None, resume: bool, as_json: bool) -> None:
    """Read, teach, store, and say how well it went."""
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
    with busy("starting"):
        from unmixnet.training.few_shot import teach
    with _progress() as watch:
        taught = teach(recordings, name=folder.resolve().name, folder=run, watch=watch, seed=seed or 0)
    if as_json:
        emit({"schema": "unmixnet.teach/1", **taught.to_json()})
    else:
        _show(taught)


def _labelled(folder: Path) -> "list[Recording]":
    from unmixnet.errors import ConfigError
    from unmixnet.recordings.datasets import load

    data = load("folder", folder)
    entries = [entry for entry in data.entries if entry.label is not None]
    if not entries:
        raise ConfigError(
            "no recording of this folder has a label",
            where=str(folder),
            remedy="List the recordings and their labels in manifest.csv",
        )
    return [data.read(entry) for entry in entries]


@contextmanager
def _progress() -> "Iterator[Watch]":
    """One bar for each stage."""
    from unmixnet.cli.progress import stages

    with stages() as stage:
        bars: dict = {}

        def watch(name: str, done: int, of: int) -> None:
            if name not in bars:
                bars[name] = [stage(name, of), 0]
            for _ in range(done - bars[name][1]):
                bars[name][0]()
            bars[name][1] = max(done, bars[name][1])

        yield watch


def _show(taught: "Taught") -> None:
    rows = [
        ["this model", f"{taught.leave_one_out:.4f}"],
        ["nearest other recording", f"{taught.nearest:.4f}"],
        ["mean of the others", f"{taught.mean:.4f}"],
    ]
    table(f"{taught.recordings} recordings, {taught.how}", ["", "MAE"], rows)
    say(f"Bundle: [bold]{taught.folder}[/]. Next: unmixnet unmix FILE --model {taught.folder}")

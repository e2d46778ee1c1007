"""`unmixnet data`: which data sets there are, and fetching them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from unmixnet.cli.output import print_json, print_text, progress

__all__ = ["app"]

app = typer.Typer(help="Data sets: list them, fetch them.", no_args_is_help=True)


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(help="smellnet-base, smellnet-mixture or uci-dynamic.")],
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Data folder; UNMIXNET_DATA or the user's data folder if not given."),
    ] = None,
    mirror: Annotated[str | None, typer.Option(help="A server with the same paths as the public home.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fetch a data set from its public home; an interrupted fetch continues where it stopped."""
    from dataclasses import asdict

    from unmixnet.recordings.fetch import fetch
    from unmixnet.recordings.location import default_root

    folder = to or default_root()
    with _byte_counter(f"Fetching {name}") as count:
        report = fetch(name, folder, mirror=mirror, progress=count)
    if name == "uci-dynamic":
        _cache(folder)
    if json_output:
        print_json("unmixnet.fetch/1", asdict(report))
        return
    there = f"{report.already_there:,} were there"
    print_text(f"{name}: {report.fetched:,} files fetched, {there}, {report.total_bytes:,} bytes in {report.folder}")
    print_text(f"Use it with --data {folder}, or set UNMIXNET_DATA={folder}")


def _cache(folder: Path) -> None:
    """Make the 10 Hz and 1 Hz views of the UCI texts, so that the first use need not wait for them."""
    from unmixnet.recordings.datasets import load_dataset
    from unmixnet.recordings.formats.uci_cache import open_view

    dataset = load_dataset("uci-dynamic", folder)
    for entry in dataset.of("full"):
        text = dataset.root / entry.path
        size = text.stat().st_size
        with _byte_counter(f"Caching {entry.path}") as count:
            open_view(text, 10, progress=lambda read, count=count, size=size: count(read, size))


@contextmanager
def _byte_counter(text: str) -> Iterator[Callable[[int, int | None], None]]:
    """A bar that `count(more, total)` advances by so many bytes of a total, as far as it is known."""
    with progress() as display:
        bar = display.bar(text, in_bytes=True)

        def count(more: int, total: int | None) -> None:
            bar.update(total=total)
            bar.advance(more)

        yield count


@app.command("list")
def list_command(
    data: Annotated[Path | None, typer.Option("--data", help="Data folder; UNMIXNET_DATA if not given.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the data sets that are here, and the recordings of each split."""
    from collections import Counter

    from unmixnet.errors import UnmixError
    from unmixnet.recordings.datasets import NAMES, load_dataset

    datasets: dict[str, dict[str, int] | None] = {}
    for name in NAMES:
        if name == "folder":
            continue
        try:
            datasets[name] = dict(Counter(entry.split for entry in load_dataset(name, data).entries))
        except UnmixError:
            datasets[name] = None
    if json_output:
        print_json("unmixnet.data/1", {"datasets": datasets})
        return
    for name, splits in datasets.items():
        counts = ", ".join(f"{split} {count:,}" for split, count in splits.items()) if splits else "not here"
        print_text(f"{name:18} {counts}")

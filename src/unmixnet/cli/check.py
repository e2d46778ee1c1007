"""`unmixnet check`: can these files be read, and is every channel healthy?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unmixnet.recordings.codes import Code
    from unmixnet.recordings.inspection import Checked

__all__ = ["check"]

_SHOWN_IN_FULL = 5
_LISTED = 20


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Recordings, or folders of them.")],
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 2 on warnings, too.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", help="Take files for this format in place of recognising it.")
    ] = None,
) -> None:
    """Read recordings and say what is wrong with them.

    Exit code 0 if every file could be read, 2 if one was refused (with --strict also if one has a warning).
    """
    from unmixnet.cli.progress import stages
    from unmixnet.recordings.inspection import as_json, check_files, expand
    from unmixnet.recordings.location import DataError

    paths = expand(files)
    if not paths:
        raise DataError("no file that may be a recording", where=", ".join(map(str, files)), remedy="Name a file")
    with stages() as stage:
        checked = list(check_files(paths, format=format, tick=stage("Checking", len(paths))))
    failed = any(one.refusal for one in checked) or (strict and any(one.warned for one in checked))
    if json_output:
        import json

        print(json.dumps(as_json(checked, 2 if failed else 0), allow_nan=False))
    else:
        _print(checked)
    raise typer.Exit(2 if failed else 0)


def _print(checked: "Sequence[Checked]") -> None:
    """Every file in full if they are few, else what was found and in how many files."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if len(checked) <= _SHOWN_IN_FULL:
        for one in checked:
            _print_file(console, one)
    else:
        _print_refused(console, checked)
        _print_findings(console, checked)
    read = sum(one.refusal is None for one in checked)
    warned = sum(one.warned for one in checked)
    files = "1 file" if len(checked) == 1 else f"{len(checked):,} files"
    console.print(f"{files}: {read:,} read, {warned:,} of them with warnings, {len(checked) - read:,} refused.")


def _print_file(console, one: "Checked") -> None:
    from rich.markup import escape
    from rich.table import Table

    if one.refusal:
        console.print(f"[bold red]refused[/] {escape(str(one.refusal))}\n")
        return
    recording = one.recording
    assert recording is not None
    console.print(f"[bold]{escape(one.file)}[/]")
    console.print(f"  {recording.device}, {len(recording):,} rows, {_duration(recording)}, {_label(recording)}")
    table = Table(box=None, padding=(0, 2, 0, 2), show_edge=False)
    for heading in ("channel", "unit", "health", "lowest", "highest"):
        table.add_column(heading, justify="right" if heading in ("lowest", "highest") else "left")
    for i, (name, unit, health) in enumerate(zip(recording.channels, recording.units, recording.health, strict=True)):
        colour = "green" if health == "ok" else "yellow"
        table.add_row(escape(name), escape(unit), f"[{colour}]{health}[/]", *_range(recording.readings[:, i]))
    console.print(table)
    for finding in one.findings:
        console.print(f"  {finding.code.severity} [bold]{finding.code}[/]: {escape(finding.message)}")
    console.print()


def _print_refused(console, checked: "Sequence[Checked]") -> None:
    from rich.markup import escape

    refused = [one.refusal for one in checked if one.refusal]
    for error in refused[:_LISTED]:
        console.print(f"[bold red]refused[/] {escape(str(error))}")
    if len(refused) > _LISTED:
        console.print(f"… and {len(refused) - _LISTED:,} more; --json lists them all")


def _print_findings(console, checked: "Sequence[Checked]") -> None:
    """For each code: how many files, which channels, what it means, one example."""
    from rich.markup import escape

    groups: dict[Code, dict[str, list[str]]] = {}
    for one in checked:
        for finding in one.findings:
            channels = groups.setdefault(finding.code, {})
            channels.setdefault(finding.channel or "", []).append(one.file)
    for code, channels in sorted(groups.items(), key=lambda item: (item[0].severity, item[0]), reverse=True):
        files = {file for where in channels.values() for file in where}
        named = ", ".join(f"{name} {len(set(where)):,}" for name, where in channels.items() if name)
        console.print(f"{code.severity} [bold]{code}[/] in {len(files):,} files" + escape(f" ({named})" * bool(named)))
        console.print(f"    {code.meaning}; for example {escape(Path(min(files)).name)}")


def _duration(recording) -> str:
    return f"{recording.duration_s:,.6g} s at {recording.sample_rate_Hz:.4g} Hz"


def _label(recording) -> str:
    if recording.gases:
        return f"set points of {' and '.join(recording.gases)} in ppm"
    if recording.label is None:
        return "no label"
    pairs = zip(recording.label.names, recording.label.ratios, strict=True)
    return "label " + " + ".join(f"{name} {share:.0%}" for name, share in pairs)


def _range(values) -> tuple[str, str]:
    present = values[values == values]
    return (f"{present.min():g}", f"{present.max():g}") if len(present) else ("–", "–")

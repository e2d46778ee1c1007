"""`unmixnet check`: can these files be read, and is every channel healthy?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmixnet.cli.output import Styled, bold, print_json, print_table, print_text, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unmixnet.recordings.codes import Code
    from unmixnet.recordings.inspection import Checked

__all__ = ["check"]

_SHOWN_IN_FULL = 5
_LISTED = 20
_REFUSED = Styled("refused", "bold red")


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Recordings, or folders of them.")],
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 2 on warnings, too.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", help="Take files for this format in place of recognising it.")
    ] = None,
) -> None:
    """Read recordings and report what is wrong with them.

    Exit code 0 if every file could be read, 2 if one was refused (with --strict also if one has a warning).
    """
    from unmixnet.recordings.inspection import as_json, check_files, expand
    from unmixnet.recordings.location import DataError

    paths = expand(files)
    if not paths:
        raise DataError("no file that may be a recording", where=", ".join(map(str, files)), remedy="Name a file")
    with progress() as display:
        checked = list(check_files(paths, format=format, tick=display("Checking", len(paths))))
    failed = any(file.refusal for file in checked) or (strict and any(file.warned for file in checked))
    if json_output:
        values = as_json(checked, 2 if failed else 0)
        print_json(values.pop("schema"), values)
    else:
        _print(checked)
    raise typer.Exit(2 if failed else 0)


def _print(checked: "Sequence[Checked]") -> None:
    """Every file in full if they are few, else what was found and in how many files."""
    from unmixnet.recordings.inspection import folder_findings

    if len(checked) <= _SHOWN_IN_FULL:
        for file in checked:
            _print_file(file)
    else:
        _print_refused(checked)
        _print_findings(checked)
    for finding in folder_findings(file.recording for file in checked if file.recording):
        print_text(f"{finding.code.severity} ", bold(finding.code), f": {finding.message}")
    read = sum(file.refusal is None for file in checked)
    warned = sum(file.warned for file in checked)
    files = "1 file" if len(checked) == 1 else f"{len(checked):,} files"
    print_text(f"{files}: {read:,} read, {warned:,} of them with warnings, {len(checked) - read:,} refused.")


def _print_file(file: "Checked") -> None:
    if file.refusal:
        print_text(_REFUSED, f" {file.refusal}\n")
        return
    recording = file.recording
    assert recording is not None
    print_text(bold(file.file))
    print_text(f"  {recording.device}, {len(recording):,} rows, {_duration(recording)}, {_label(recording)}")
    rows = [
        [name, unit, Styled(health, "green" if health == "ok" else "yellow"), *_range(recording.readings[:, i])]
        for i, (name, unit, health) in enumerate(
            zip(recording.channels, recording.units, recording.health, strict=True)
        )
    ]
    columns = ["channel", "unit", "health", "lowest", "highest"]
    print_table("", columns, rows, left=("unit", "health"), frame=False)
    for finding in file.findings:
        print_text(f"  {finding.code.severity} ", bold(finding.code), f": {finding.message}")
    print_text()


def _print_refused(checked: "Sequence[Checked]") -> None:
    refused = [file.refusal for file in checked if file.refusal]
    for error in refused[:_LISTED]:
        print_text(_REFUSED, f" {error}")
    if len(refused) > _LISTED:
        print_text(f"… and {len(refused) - _LISTED:,} more; --json lists them all")


def _print_findings(checked: "Sequence[Checked]") -> None:
    """For each code: how many files, which channels, what it means, one example."""
    groups: dict[Code, dict[str, list[str]]] = {}
    for file in checked:
        for finding in file.findings:
            channels = groups.setdefault(finding.code, {})
            channels.setdefault(finding.channel or "", []).append(file.file)
    for code, channels in sorted(groups.items(), key=lambda item: (item[0].severity, item[0]), reverse=True):
        files = {file for where in channels.values() for file in where}
        named = ", ".join(f"{name} {len(set(where)):,}" for name, where in channels.items() if name)
        print_text(f"{code.severity} ", bold(code), f" in {len(files):,} files" + f" ({named})" * bool(named))
        print_text(f"    {code.meaning}; for example {Path(min(files)).name}")


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

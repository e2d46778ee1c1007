"""`unmixnet audit DIR`: what is wrong with a folder of recordings, for people or (`--json`) for programs."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from unmixnet.recordings.audit import AuditReport

__all__ = ["audit"]


def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of recordings, at any depth.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page.")] = None,
) -> None:
    """Find copies, computed files, sessions, label conflicts, dead channels and leaks."""
    from unmixnet.cli.progress import stages
    from unmixnet.recordings.audit import audit_folder

    with stages() as progress:
        result = audit_folder(folder, progress=progress)
    if report is not None:
        from unmixnet.recordings.audit.page import write_page

        write_page(result, report)
        print(f"Wrote {report}", file=sys.stderr)
    if as_json:
        print(json.dumps(_as_object(result), indent=1, allow_nan=False))
    else:
        _print_text(result)


def _as_object(result: "AuditReport") -> dict:
    from unmixnet.recordings.audit.statements import headline, statements

    summary = [{"weight": item.weight, "title": item.title, "what": item.what} for item in statements(result)]
    return {"headline": headline(result), "statements": summary, **dataclasses.asdict(result)}


def _print_text(result: "AuditReport") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding

    from unmixnet.recordings.audit.statements import headline, statements

    console = Console(highlight=False)
    console.print(f"[bold]{escape(headline(result))}[/bold]\n")
    sign = {"serious": "[red]✗[/red]", "notice": "[yellow]![/yellow]", "good": "[green]✓[/green]"}
    for item in statements(result):
        console.print(f"{sign[item.weight]} [bold]{escape(item.title)}[/bold]")
        console.print(Padding(escape(item.what), (0, 0, 0, 2)))
        if item.advice:
            console.print(Padding(f"[dim]{escape(item.advice)}[/dim]", (0, 0, 0, 2)))
    console.print("\nPictures and the list of files: [bold]--report audit.html[/bold]. Everything: --json")

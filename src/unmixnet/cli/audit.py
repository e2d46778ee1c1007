"""`unmixnet audit DIR`: what is wrong with a folder of recordings, for people or (`--json`) for programs."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmixnet.cli.output import Styled, bold, message, print_json, print_text, progress

if TYPE_CHECKING:
    from unmixnet.recordings.audit import AuditReport

__all__ = ["audit"]


def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of recordings, at any depth.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
    report: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page.")] = None,
) -> None:
    """Find copies, computed files, sessions, label conflicts, dead channels and leaks."""
    from unmixnet.recordings.audit import audit_folder

    with progress() as display:
        result = audit_folder(folder, progress=display)
    if report is not None:
        from unmixnet.recordings.audit.page import write_page

        write_page(result, report)
        message(f"Wrote {report}")
    if as_json:
        print_json("unmixnet.audit/1", _values(result))
    else:
        _print_text(result)


def _values(result: "AuditReport") -> dict[str, Any]:
    from unmixnet.recordings.audit.statements import headline, statements

    summary = [{"weight": item.weight, "title": item.title, "what": item.what} for item in statements(result)]
    return {"headline": headline(result), "statements": summary, **asdict(result)}


def _print_text(result: "AuditReport") -> None:
    from unmixnet.recordings.audit.statements import headline, statements

    print_text(bold(headline(result)), "\n", wrap=True)
    for item in statements(result):
        print_text(_SIGNS[item.weight], " ", bold(item.title), wrap=True)
        print_text(item.what, indent=2, wrap=True)
        if item.advice:
            print_text(Styled(item.advice, "dim"), indent=2, wrap=True)
    print_text("\nPictures and the list of files: ", bold("--report audit.html"), ". Everything: --json", wrap=True)


_SIGNS = {"serious": Styled("✗", "red"), "notice": Styled("!", "yellow"), "good": Styled("✓", "green")}

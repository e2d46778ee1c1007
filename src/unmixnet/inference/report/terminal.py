"""The answer at the terminal: a table of shares and a few sentences that a chemist understands."""

from typing import TYPE_CHECKING

from unmixnet.files.printable import printable
from unmixnet.inference.answer import Answer
from unmixnet.inference.report.formatting import interval, percent, scientific
from unmixnet.inference.report.words import (
    caution,
    familiarity_words,
    fit_words,
    headline,
    laws,
    leading,
    strength_words,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["COLUMNS", "print_answer", "rows", "sentences", "share_table"]

COLUMNS = ("component", "share", "90 % interval", "presence")


def rows(answer: Answer, *, everything: bool = False) -> list[list[str]]:
    """One row per component, largest share first; without `everything` those that do not matter are one last row.

    Plain text: a console that reads markup must be given it as `rich.text.Text`, as `share_table` does.
    """
    shown = answer.ranking.tolist() if everything else leading(answer)
    table = [
        [
            printable(answer.components[k]) or "(no name)",
            percent(answer.ratios[k]),
            interval(answer.low[k], answer.high[k]),
            percent(answer.presence[k]),
        ]
        for k in shown
    ]
    hidden = [k for k in answer.ranking.tolist() if k not in set(shown)]
    if hidden:
        table.append([f"{len(hidden)} more", percent(float(answer.ratios[hidden].sum())), "", ""])
    return table


def sentences(answer: Answer) -> list[str]:
    """Strength, familiarity, fit, closure and findings, one sentence each."""
    words = [strength_words(answer), familiarity_words(answer), fit_words(answer), closure_sentence(answer)]
    return [*words, *(printable(finding) for finding in answer.findings)]


def closure_sentence(answer: Answer) -> str:
    """Which laws hold, and how well; a broken one comes first."""
    held = laws(answer.closure)
    broken = [law for law in held if law.state != "closes"]
    if broken:
        violations = "; ".join(f"{law.name.lower()} is off by {scientific(law.violation)}" for law in broken)
        return f"The physics does not close: {violations}."
    return f"The physics closes: {'; '.join(law.sentence for law in held)}."


def share_table(answer: Answer) -> "Table":
    """The rows as a table for a rich console; names are never read as markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", title_justify="left")
    for i, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
    style = "" if answer.trusted else "dim"
    for row in rows(answer):
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def print_answer(answer: Answer, console: "Console | None" = None) -> None:
    """Print the whole answer on stdout, or on the given console."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console(highlight=False)
    console.print(Text(headline(answer), style="bold"))
    if not answer.trusted:
        console.print(Text(caution(answer), style="yellow"))
    console.print(share_table(answer))
    for sentence in sentences(answer):
        console.print(Text(sentence))

"""A table in Markdown, and the line that says what made it."""

from collections.abc import Sequence

__all__ = ["made_by", "table"]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    return [
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def made_by(record: dict, *, detail: str = "") -> str:
    """Command, commit, date and machine of a result file; `detail` names one of the machine's programs, e.g. jax."""
    machine = record["machine"]
    where = f"{machine['processor']}, {machine['cores']} cores"
    where += f", {'Python' if detail == 'python' else detail} {machine[detail]}" if detail else ""
    return f"`{record['command']}`, commit {record['commit']}, {record['date']}, {where}."

"""Table of the session calibration: error against the number of references, wrong labels in parentheses."""

from studies.tables.markdown import made_by, table

__all__ = ["session_part"]

_WRONG = ", wrong labels"


def session_part(record: dict) -> list[str]:
    """Models in rows, numbers of references in columns."""
    found = {(r["model"], r["split"]): r for r in record["rows"] if r["metric"] == "MAE"}
    splits = [s for s in dict.fromkeys(split for _, split in found) if not s.endswith(_WRONG)]
    models = dict.fromkeys(model for model, _ in found)
    rows = [[model, *(_cell(found, model, split) for split in splits)] for model in models]
    return [*table(["model, and what it does with references", *splits], rows), "", made_by(record)]


def _cell(found: dict, model: str, split: str) -> str:
    row, wrong = found.get((model, split)), found.get((model, split + _WRONG))
    if row is None:
        return ""
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else f" [{row['lo']:.3f}, {row['hi']:.3f}]"
    return f"{row['mean']:.3f}{spread}" + (f" ({wrong['mean']:.3f})" if wrong else "")

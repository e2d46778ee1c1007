"""The table of cells and steps of a model's chamber."""

from studies.tables.markdown import run_notes, table

__all__ = ["cells_part"]


def cells_part(record: dict, part: str) -> list[str]:
    """`error`: of every scheme and step beside the time per window; `converged`: what they are compared with."""
    if part == "converged":
        fine, problem = record["converged"], record["problem"]
        return [
            f"The converged solution has {fine['cells']} cells and steps of {fine['step_s']:g} s; half as many cells "
            f"differ from it by {fine['halved_cells_differ_by']:.4f} of the spread. {problem['recipes']} recipes of "
            f"{problem['odorants']} odorants, {problem['sensors']} sensors, {problem['duration_s']} s."
        ]
    rows, steps = record["rows"], sorted({row["step_s"] for row in record["rows"]}, reverse=True)
    lines = []
    for cells in sorted({row["cells"] for row in rows}):
        for scheme in dict.fromkeys(row["scheme"] for row in rows):
            mine = {row["step_s"]: row for row in rows if (row["cells"], row["scheme"]) == (cells, scheme)}
            lines.append([str(cells), scheme, *(_entry(mine[step]) for step in steps)])
    titles = [f"steps of {step:g} s" for step in steps]
    return [*table(["cells", "scheme", *titles], lines), "", *run_notes(record)]


def _entry(row: dict) -> str:
    """Error and milliseconds; in bold what was solved before, with a star where the limiter acted."""
    text = f"{row['error']:.4f}{'*' * (row['status'] == 1)}, {1e3 * row['seconds_per_window']:.3g} ms"
    return f"**{text}**" if row["before"] else text

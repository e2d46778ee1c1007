"""A table in Markdown, and the line that says what made it."""

import json
from collections.abc import Sequence
from pathlib import Path

from unmixnet.files.provenance import provenance

__all__ = ["RESULTS", "made_by", "read_record", "scored", "store", "table"]

_RENAMED = {
    "unmixnet reproduce ": "python -m studies ",
    "unmixnet bench ": "python -m studies bench ",
    "python -m benchmarks.scale": "python -m studies.bench.scale",
    "python -m benchmarks.calibrate": "python -m studies.simulator.calibrate",
    "python benchmarks/reader.py": "python -m studies.bench.reader",
}
"""Commands that earlier commits had under another name; stored results keep the name of their commit."""


def read_record(path: Path) -> dict:
    """A result file, its commands named as they are today."""
    text = path.read_text(encoding="utf-8")
    for old, new in _RENAMED.items():
        text = text.replace(old, new)
    return json.loads(text)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    return [
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def scored(row: dict | None, *, interval: bool = False) -> str:
    """A row's mean and its deviation over seeds, with its interval if wanted; nothing where there is no row."""
    if row is None:
        return ""
    spread = f" ± {row['sd']:.3f}" if row["seeds"] > 1 else ""
    return f"{row['mean']:.3f}{spread}" + (f" [{row['lo']:.3f}, {row['hi']:.3f}]" if interval else "")


def made_by(record: dict, *, detail: str = "") -> str:
    """Command, commit, date and machine of a result file; of one that runs were added to, the first command.

    Arguments:
        detail: one of the machine's programs, e.g. jax.
    """
    machine, runs = record["machine"], [*record.get("earlier", ()), record]
    where = f"{machine['processor']}, {machine['cores']} cores"
    where += f", {'Python' if detail == 'python' else detail} {machine[detail]}" if detail else ""
    pieces = f" in {len(runs)} runs, which the result file names, the last:" if len(runs) > 1 else ","
    return f"`{runs[0]['command']}`{pieces} commit {record['commit']}, {record['date']}, {where}."


RESULTS = Path(__file__).parents[1] / "results"


def store(name: str, command: str, results: dict) -> Path:
    """Write studies/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(provenance(command, results=results), indent=2) + "\n", encoding="utf-8")
    return path


def run_notes(record: dict) -> list[str]:
    """What made a table, and what to know before believing it."""
    lines = [made_by(record)]
    if record.get("quick"):
        lines.append("A quick run of few epochs: it shows that everything works, not how well.")
    if record.get("missing"):
        lines.append(f"Not finished: {', '.join(record['missing'])}.")
    lines += [
        f"Failed: {f['study']}, {f['model']}, seed {f['seed']}: {f['problem']}" for f in record.get("failures", ())
    ]
    return lines


def run_notes_by_study(record: dict) -> list[str]:
    """What made a table, and what to know before believing it; unfinished models by study."""
    lines = [made_by(record)]
    if record.get("quick"):
        lines.append("A quick run: it shows that everything works, not how well.")
    for study in dict.fromkeys(name.split(": ")[0] for name in record.get("missing", ())):
        models = [name.split(": ")[1] for name in record["missing"] if name.split(": ")[0] == study]
        lines.append(f"Not finished on {study}: {', '.join(models)}.")
    load = record.get("load_before", 0.0)
    if load > record["machine"]["cores"] / 2:
        lines.append(f"The machine was busy (load {load:g}): believe ratios, not times.")
    return lines

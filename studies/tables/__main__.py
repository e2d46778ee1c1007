"""Tables in the documentation, made from studies/results so that no number is typed.

    python -m studies.tables

rewrites the parts of README.md and docs/*.md between `<!-- table NAME -->` and `<!-- end -->`.
"""

import re
from collections.abc import Callable
from pathlib import Path

from studies.tables.ablation_parts import ablation_part, efficiency_part
from studies.tables.calibrate_parts import calibrate_part
from studies.tables.cost_parts import FILES, cost_part
from studies.tables.figure_parts import failures_part, figures_part
from studies.tables.markdown import made_by, read_record
from studies.tables.model_parts import bundles_part, novelty_part, simulated_part, smellnet_part, training_part
from studies.tables.parts import audit_part, peers_part
from studies.tables.physics_parts import simulation_keys, solver_part, validate_part
from studies.tables.session_parts import session_part
from studies.tables.states_parts import states_part

__all__ = ["PAGES", "filled"]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RESULTS = ROOT / "studies" / "results"
_PLACE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _reader(record: dict) -> list[str]:
    found = record["results"]
    tasks = {
        'pandas.read_csv(sep=r"\\s+")': "pandas",
        "read_recording, with health verdicts": "ours",
        "reopening the 10 Hz view": "cache_10Hz",
        "reopening the 1 Hz view": "cache_1Hz",
    }
    rows = [
        f"| {what} | {found['seconds'][task]:.3g} | {found['processor_seconds'][task]:.3g} "
        f"| {_peak(found['peak_MB'].get(task))} |"
        for what, task in tasks.items()
    ]
    return [
        f"| {found['rows']:,} rows, {found['bytes'] / 1e6:,.0f} MB of text "
        "| seconds | processor seconds | peak memory, MB |",
        "|---|---|---|---|",
        *rows,
        "",
        "The best of several rounds in turn; the peak at the 10 Hz view is that of making both views.",
        made_by(record, detail="python"),
    ]


def _peak(megabytes: float | None) -> str:
    return "" if megabytes is None else f"{megabytes:,.0f}"


def _malformed(record: dict) -> list[str]:
    found = record["results"]
    refused = sum(found["refused"].values())
    return [
        "| damaged copies of real files | read | refused with a code | any other error | slowest, ms |",
        "|---|---|---|---|---|",
        f"| {found['files']:,} | {found['read']:,} | {refused:,} | {found['other_errors']} "
        f"| {found['slowest_ms']:.0f} |",
        "",
        made_by(record, detail="python"),
    ]


def _soak(record: dict, about: str) -> list[str]:
    """What the long counts measured about one thing, largest value first."""
    tests = [test for test in record["tests"] if any(about in each["what"] for each in test["measured"])]
    found = {each["what"]: each["value"] for test in tests for each in test["measured"]}
    mine = sorted(((value, what) for what, value in found.items() if about in what), reverse=True)
    rows = [f"| {what} | {value:.3g} |" for value, what in mine] or ["| not measured yet | |"]
    newest = max(tests, key=lambda test: test.get("date", ""), default={})
    source = record | {key: newest[key] for key in ("commit", "date") if key in newest}
    return ["| what | largest |", "|---|---|", *rows, "", made_by(source, detail="python")]


TABLES: dict[str, Callable[[dict], list[str]]] = {
    "reader": _reader,
    "malformed": _malformed,
    "training": training_part,
    "novelty": novelty_part,
    "bundles": bundles_part,
    "session": session_part,
}
PARTS: dict[str, Callable[[dict, str], list[str]]] = {
    "peers": peers_part,
    "audit": audit_part,
    "validate": validate_part,
    "solver": solver_part,
    "simulated": simulated_part,
    "smellnet": smellnet_part,
    "smellnet-paper": smellnet_part,
    "soak": _soak,
    "ablation": ablation_part,
    "efficiency": efficiency_part,
    "states": states_part,
    "figures": figures_part,
    "failures": failures_part,
    "calibrate": calibrate_part,
}
"""Tables that show one part of a result file: `<!-- table peers:smellnet-base:official -->`."""

LATER = {
    "simulated": "python -m studies simulated",
    "smellnet": "python -m studies smellnet",
    "smellnet-paper": "python -m studies smellnet --size paper --study clean",
    "training": "python -m studies bench training --output studies/results/training.json",
    "novelty": "python -m studies novelty",
    "states": "python -m studies states",
    "figures": "python -m studies figures",
    "failures": "python -m studies figures",
    "bundles": "python -m studies bundles",
    "session": "python -m studies session",
    "ablation": "python -m studies ablation",
    "efficiency": "python -m studies efficiency",
    "calibrate": "python -m studies.simulator.calibrate --known --report SIM/report.json",
}
"""Results that a checkout may not have yet, with the command that makes them."""


def filled(page: str, results: Path = RESULTS) -> str:
    """The page with every table made anew."""

    def table(match: re.Match) -> str:
        name, _, part = match[2].partition(":")
        if name == "simulation-keys":
            return match[1] + "\n".join(simulation_keys()) + "\n" + match[3]
        if name == "cost":
            there = {file: path for file in FILES if (path := results / f"{file}.json").is_file()}
            records = {file: read_record(path) for file, path in there.items()}
            return match[1] + "\n".join(cost_part(records)) + "\n" + match[3]
        path = results / f"{name}.json"
        if name in LATER and not path.is_file():
            return f"{match[1]}Not measured yet: run `{LATER[name]}`.\n{match[3]}"
        record = read_record(path)
        lines = PARTS[name](record, part) if part else TABLES[name](record)
        return match[1] + "\n".join(lines) + "\n" + match[3]

    return _PLACE.sub(table, page)


def main() -> None:
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if (new := filled(page)) != page:
            path.write_text(new, encoding="utf-8")
            print(f"Wrote {path.name}")


if __name__ == "__main__":
    main()

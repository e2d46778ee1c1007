"""Tables in the documentation, made from studies/results so that no number is typed.

    python -m studies.tables

rewrites the parts of README.md and docs/*.md between `<!-- table NAME -->` and `<!-- end -->`, and those of
the known gases between `<!-- uci NAME -->` and `<!-- /uci -->`.
"""

import re
from collections.abc import Callable
from pathlib import Path

from studies.tables.cells import cells_part
from studies.tables.costs import FILES, cost_part, efficiency_part, reader_part, solver_part, training_part
from studies.tables.figures import failures_part, figures_part
from studies.tables.markdown import read_record
from studies.tables.peers import audit_part, peers_part
from studies.tables.physics import malformed_part, simulation_keys, soak_part, validate_part
from studies.tables.simulator import calibrate_part, simulated_part
from studies.tables.smellnet import bundles_part, novelty_part, session_part, smellnet_part
from studies.tables.states import ablation_part, states_part
from studies.tables.uci import with_uci_tables

__all__ = ["PAGES", "filled"]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RESULTS = ROOT / "studies" / "results"
_PLACE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLES: dict[str, Callable[[dict], list[str]]] = {
    "reader": reader_part,
    "malformed": malformed_part,
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
    "soak": soak_part,
    "ablation": ablation_part,
    "efficiency": efficiency_part,
    "states": states_part,
    "figures": figures_part,
    "failures": failures_part,
    "calibrate": calibrate_part,
    "cells": cells_part,
}
"""Tables that show one part of a result file: `<!-- table peers:smellnet-base:official -->`."""
LATER = {
    "cells": "python -m studies bench cells",
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

    page = _PLACE.sub(table, page)
    return with_uci_tables(page, read_record(results / "uci.json")) if "<!-- uci " in page else page


def main() -> None:
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if (new := filled(page)) != page:
            path.write_text(new, encoding="utf-8")
            print(f"Wrote {path.name}")


if __name__ == "__main__":
    main()

"""Results of benchmarks and long counts, stored with where they come from."""

import json
from pathlib import Path

from unmixnet.files.provenance import provenance

__all__ = ["RESULTS", "store"]

RESULTS = Path(__file__).parents[1] / "results"


def store(name: str, command: str, results: dict) -> Path:
    """Write studies/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(provenance(command, results=results), indent=2) + "\n", encoding="utf-8")
    return path

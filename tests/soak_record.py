"""The record of the long counts: a run replaces the rows of the tests that it ran and keeps the others.

So a record can be made in pieces; every row says which commit it is of, and rows of tests that are gone go with them.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def merged(old: Iterable[Row], new: Iterable[Row], functions: set[str]) -> list[Row]:
    """Rows by name, sorted; only those whose test function still exists."""
    rows = {row["name"]: row for row in (*old, *new)}
    return [rows[name] for name in sorted(rows) if name.split("[")[0] in functions]


def functions_in(folder: Path) -> set[str]:
    """Names of all test functions in a folder."""
    lines = (line for path in folder.rglob("test_*.py") for line in path.read_text(encoding="utf-8").splitlines())
    defined = (line.strip().removeprefix("async ") for line in lines)
    return {line[4 : line.index("(")] for line in defined if line.startswith("def test_")}


def record(target: Path, new: list[Row], tests: Path, head: dict[str, Any]) -> None:
    """Write the record; `head` says where the newest rows come from."""
    old = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {"tests": []}
    known = [{"commit": old["commit"], "date": old["date"], **row} for row in old["tests"]]
    fresh = [{**row, "commit": head["commit"], "date": head["date"]} for row in new]
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = {**head, "tests": merged(known, fresh, functions_in(tests))}
    target.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")

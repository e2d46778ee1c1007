"""The record of long counts can be made in pieces."""

import json
from pathlib import Path

from tests.soak_record import functions_in, merged, record

HEAD = {"command": "make soak", "commit": "new", "date": "2026-02-02"}


def row(name: str, seconds: float = 1.0, **more) -> dict:
    return {"name": name, "outcome": "passed", "seconds": seconds, "measured": [], **more}


def test_a_run_replaces_its_own_rows_and_keeps_the_others():
    rows = merged([row("test_a"), row("test_b[1]")], [row("test_a", 2.0)], {"test_a", "test_b"})
    assert [(one["name"], one["seconds"]) for one in rows] == [("test_a", 2.0), ("test_b[1]", 1.0)]


def test_rows_of_tests_that_are_gone_go_with_them():
    assert merged([row("test_gone"), row("test_a")], [], {"test_a"}) == [row("test_a")]


def test_every_row_says_which_commit_it_is_of(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_a():\n    pass\n\n\nasync def test_b(x):\n    pass\n")
    target = tmp_path / "soak.json"
    record(target, [row("test_a")], tmp_path, {**HEAD, "commit": "old", "date": "2026-01-01"})
    record(target, [row("test_b")], tmp_path, HEAD)
    kept = json.loads(target.read_text())
    assert [(one["name"], one["commit"]) for one in kept["tests"]] == [("test_a", "old"), ("test_b", "new")]
    assert kept["commit"] == "new"


def test_this_test_is_found_among_the_functions():
    assert "test_this_test_is_found_among_the_functions" in functions_in(Path(__file__).parent)

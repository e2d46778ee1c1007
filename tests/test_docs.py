"""Numbers in the documentation are those of the stored results; names in it are those of the code."""

import re

import pytest
from benchmarks.tables import PAGES, ROOT, filled


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_table_is_made_from_the_stored_results(path):
    page = path.read_text(encoding="utf-8")
    assert filled(page) == page, "run `python -m benchmarks.tables`"


def test_a_number_changed_by_hand_would_be_noticed():
    page = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
    changed = page.replace("| damaged copies of real files |", "| damaged |")
    assert changed != page
    assert filled(changed) == page


# ---------------------------------------------------------------- names

SOURCES = ROOT / "src" / "unmixnet"


def lost(table: str) -> list[str]:
    """Names in rows of a table that the file of the row does not have."""
    found = []
    for row in (line for line in table.splitlines() if line.startswith("|") and ".py`" in line):
        *_, code, files = row.replace("\\|", "").strip("| ").split(" | ")
        text = "".join((SOURCES / name).read_text() for name in re.findall(r"`([^`]+\.py)`", files))
        names = [part for name in re.findall(r"`([^`]+)`", code) for part in name.split(".")]
        found += [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)]
    return found


def chapters(*titles: str) -> str:
    parts = re.split(r"^## ", (ROOT / "docs" / "notation.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return "".join(part for part in parts if part.splitlines()[0] in titles)


def test_every_name_of_the_notation_stands_in_its_file():
    assert lost(chapters("Model", "Objective")) == []


def test_twin_a_name_that_was_changed_would_be_missed():
    assert lost(chapters("Objective").replace("`flux_loss`", "`flow_loss`")) == ["flow_loss"]


@pytest.mark.parametrize("folder", ["model", "objective"])
def test_the_notation_has_a_row_for_every_file(folder):
    files = {f"{folder}/{path.name}" for path in (SOURCES / folder).glob("*.py")} - {f"{folder}/__init__.py"}
    assert files == set(re.findall(rf"`({folder}/\w+\.py)`", chapters("Model", "Objective")))

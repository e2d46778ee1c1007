"""Numbers on the UCI page are those of the stored results."""

from pathlib import Path

import pytest

from studies.tables.markdown import read_record
from studies.tables.uci import with_uci_tables

ROOT = Path(__file__).parents[3]
PAGE, RESULTS = ROOT / "docs" / "uci.md", ROOT / "studies" / "results" / "uci.json"


@pytest.fixture(scope="module")
def record():
    return read_record(RESULTS)


def test_every_table_is_made_from_the_stored_results(record):
    page = PAGE.read_text(encoding="utf-8")
    assert with_uci_tables(page, record) == page, "run `python -m studies.tables`"
    assert page.count("<!-- uci ") >= 8


def test_a_number_changed_by_hand_would_be_noticed(record):
    page = PAGE.read_text(encoding="utf-8")
    changed = page.replace("| competitive adsorption |", "| competitive |", 1)
    assert changed != page
    assert with_uci_tables(changed, record) == page


def test_results_carry_what_they_rest_on(record):
    assert {"command", "commit", "date", "machine", "rows", "tables", "beside"} <= set(record)
    for row in record["rows"]:
        assert row["n"] > 0
        assert row["lo"] <= row["hi"]
        assert row["mean"] == row["mean"], "no NaN"


def test_what_the_page_claims_of_the_plateaus_holds_in_the_results(record):
    found = {
        (row["split"], row["metric"]): row["mean"]
        for row in record["rows"]
        if row["protocol"] == "uci-plateaus:forward"
        and row["level"] == "settled plateau"
        and row["model"] == "competitive adsorption"
    }
    assert found["methane", "R²"] >= 0.98
    assert found["ethylene", "R²"] >= 0.97
    assert found["both gases", "support accuracy"] >= 0.97

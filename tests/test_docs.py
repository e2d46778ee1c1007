"""Numbers in the documentation are those of the stored results."""

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

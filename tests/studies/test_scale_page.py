"""The numbers of docs/scale.md are those of the stored results, and its fits find what was put in."""

import json

import numpy as np
import pytest

from studies.bench.scale import AXES, PLAIN_SUMS, STEPPED, fitted
from studies.bench.scale_page import PAGE, draw, filled
from studies.tables.markdown import RESULTS, read_record


@pytest.fixture(scope="module")
def record() -> dict:
    return read_record(RESULTS / "scale.json")


def test_every_number_of_the_page_is_made_from_the_stored_results(record):
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, record) == page, "run `python -m studies.bench.scale_page`"


def test_twin_a_number_changed_in_the_results_would_change_the_page(record):
    page = PAGE.read_text(encoding="utf-8")
    other = json.loads(json.dumps(record))
    other["archive"]["samples_per_second"] *= 1.5
    assert filled(page, other) != page


def test_sizes_follow_from_the_measured_numbers(record):
    """Twice as quick halves the cores; a million boards need a thousand times as much as a thousand."""

    def cores(given: dict) -> list[float]:
        lines = filled("<!-- scale sizing -->\n<!-- end -->", given).splitlines()
        return [float(line.split("|")[4].replace(",", "")) for line in lines if "boards" in line]

    quick = json.loads(json.dumps(record))
    quick["archive"]["samples_per_second"] *= 2
    few, many = cores(record)
    assert many == pytest.approx(1000 * few, rel=0.02)
    assert cores(quick)[0] == pytest.approx(few / 2, rel=0.02)
    assert few == pytest.approx(1000 * 10 / record["archive"]["samples_per_second"], rel=0.01)


@pytest.mark.parametrize(("a", "b", "p"), [(1e-3, 1e-5, 1.0), (2e-4, 1e-6, 1.8), (5e-2, 1e-3, 0.9)])
def test_a_fit_finds_the_exponent_and_the_bend(a, b, p):
    n = np.array([1, 4, 16, 64, 256, 1024, 4096], float)
    noise = np.exp(np.random.default_rng(0).normal(0, 0.02, len(n)))
    fit = fitted(list(zip(n, (a + b * n**p) * noise, strict=True)))
    assert fit["exponent"] == pytest.approx(p, abs=0.05) and fit["bend"] == pytest.approx((a / b) ** (1 / p), rel=0.3)


def test_every_size_was_measured_and_solved(record):
    for axis in record["solver"].values():
        assert len(axis["rows"]) >= 5 and all(row["status"] == 0 and row["seconds"] > 0 for row in axis["rows"])
    cells = [row["cells"] for row in record["solver"]["cells"]["rows"]]
    assert cells[0] == 1 and cells[-1] == 10_000


def test_the_step_is_measured_with_the_flag_that_the_page_tells(record):
    assert f"XLA_FLAGS={PLAIN_SUMS}" in PAGE.read_text(encoding="utf-8")
    for name in STEPPED:
        usual, plain = (record[kind][name]["rows"] for kind in ("solver", "plain_sums"))
        assert [row[name] for row in plain] == [row[name] for row in usual] == list(AXES[name])
        assert max(a["seconds"] / b["seconds"] for a, b in zip(usual, plain, strict=True)) > 1.5


def test_the_figure_is_drawn(record, tmp_path):
    draw(record, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").stat().st_size > 10_000

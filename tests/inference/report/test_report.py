"""The report folder: whole files, or none; the numbers behind the page."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from unmixnet.inference.report import AnswerError, write_report
from unmixnet.inference.report.files import states_csv, traces_csv

from .hostile import HOSTILE
from .synthetic_answers import empty, made_up

FILES = {"index.html", "answer.json", "traces.csv", "states.csv"}


def table(text: str) -> dict[str, np.ndarray]:
    names, *rows = csv.reader(io.StringIO(text))
    values = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows]).reshape(
        len(rows), len(names)
    )
    return dict(zip(names, values.T, strict=True))


def test_the_folder_holds_the_page_and_its_numbers_and_nothing_else(mixture, tmp_path):
    page = write_report(mixture, tmp_path / "new" / "report")
    assert page == tmp_path / "new" / "report" / "index.html"
    assert {path.name for path in page.parent.iterdir()} == FILES
    assert json.loads((page.parent / "answer.json").read_text())["components"][0]["name"] == "strawberry"


def test_the_same_answer_is_the_same_page(mixture, tmp_path):
    first, second = write_report(mixture, tmp_path / "a"), write_report(made_up(), tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


def test_traces_and_states_read_back(mixture):
    traces, states = table(traces_csv(mixture)), table(states_csv(mixture))
    assert traces["measured/VOC"] == pytest.approx(mixture.measured[:, 2], rel=1e-6)
    assert traces["reconstructed/VOC"] == pytest.approx(mixture.reconstructed[:, 2], rel=1e-6)
    k, inside = mixture.components.index("mango"), mixture.states
    throat = inside.cells.index("throat")
    assert states["concentration_ppm/throat/mango"] == pytest.approx(inside.concentration_ppm[:, throat, k], rel=1e-6)
    assert states["flux_mol_m2_s/headspace → throat/mango"] == pytest.approx(inside.flux_mol_m2_s[:, 0, k], rel=1e-6)
    assert states["coverage/CO/mango"] == pytest.approx(inside.coverage[:, 3, k], rel=1e-6)
    assert len(states) == 1 + 12 * (8 + 14 + 4)


def test_an_empty_answer_has_an_empty_report(tmp_path):
    page = write_report(empty(), tmp_path)
    assert (page.parent / "traces.csv").read_text() == "time_s\n"


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_header_is_a_formula_and_every_row_has_its_columns(name):
    odd = made_up(np.array([0.5, 0.5]), (name, "mango"), (name, "b"))
    for text in (traces_csv(odd), states_csv(odd)):
        head, *rows = list(csv.reader(io.StringIO(text, newline="")))
        assert all(len(row) == len(head) for row in rows) and len(rows) == 600
        assert all(cell[0].isalpha() for cell in head)
        text.encode("utf-8")


def test_a_failed_write_leaves_the_old_report_and_no_scraps(mixture, tmp_path, monkeypatch):
    page = write_report(mixture, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(AnswerError, match="No space left on device"):
        write_report(made_up(seed=9), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before and page.exists()


def test_twin_writing_in_place_would_leave_half_a_page(mixture, tmp_path, monkeypatch):
    page = write_report(mixture, tmp_path)
    monkeypatch.setattr(os, "replace", lambda part, path: Path(path).write_bytes(Path(part).read_bytes()[:100]))
    write_report(mixture, tmp_path)
    assert len(page.read_bytes()) == 100


def test_a_folder_that_is_a_file_is_refused_with_a_remedy(mixture, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(AnswerError, match="--report"):
        write_report(mixture, tmp_path / "file")

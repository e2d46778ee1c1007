"""`unmixnet unmix` as a user meets it: answers, errors, one JSON object."""

import json

import numpy as np
import pytest

from tests.inference.bundle import tiny

from .commands import inside


@pytest.fixture(scope="module")
def model() -> str:
    tiny.bundle()
    return str(tiny.folder() / "bundle")


def test_json_is_one_object_with_an_answer_for_every_file(model, monkeypatch, capsys):
    files = [str(tiny.folder() / name) for name in ("s0_0.csv", "s1_3.csv")]
    assert inside(["unmix", *files, "--model", model, "--json"], monkeypatch) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [answer["recording"] for answer in printed["answers"]] == files
    for answer in printed["answers"]:
        assert sum(part["share"] for part in answer["components"]) == pytest.approx(1, abs=1e-3)
        assert "states" not in answer


def test_a_table_for_people_and_a_page(model, monkeypatch, capsys, tmp_path):
    file = str(tiny.folder() / "s0_0.csv")
    assert inside(["unmix", file, "--model", model, "--report", str(tmp_path / "r")], monkeypatch) == 0
    out = capsys.readouterr()
    assert "almond" in out.out and "90 % interval" in out.out and "index.html" in out.err.replace("\n", "")
    assert (tmp_path / "r" / "index.html").exists()


def test_refinement_is_reported(model, monkeypatch, capsys):
    file = str(tiny.folder() / "s0_0.csv")
    assert inside(["unmix", file, "--model", model, "--refine", "2", "--json", "--states"], monkeypatch) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert any("Refined by 2 steps" in finding for finding in answer["findings"]) and answer["states"]["cells"]


def test_one_bad_file_does_not_hide_the_good_ones(model, monkeypatch, capsys, tmp_path):
    (tmp_path / "empty.csv").write_bytes(b"")
    rows = tiny.counts(np.eye(3)[0], 1)
    (tmp_path / "other.csv").write_text(tiny.csv_text(rows, ("NO2", "H2S", "CO")))
    (tmp_path / "short.csv").write_text(tiny.csv_text(rows[:20]))
    files = [str(tmp_path / f"{name}.csv") for name in ("empty", "other", "short")]
    good = str(tiny.folder() / "s0_0.csv")
    assert inside(["unmix", *files, good, "--model", model, "--json"], monkeypatch) == 2
    out = capsys.readouterr()
    answers = json.loads(out.out)["answers"]
    expected = ("empty", "there is no channel VOC; the file has NO2, H2S, CO", "Record for 10 s or longer")
    for answer, part in zip(answers, expected, strict=False):
        assert part in answer["error"] and part in out.err
    assert "error" not in answers[3] and "Traceback" not in out.err


@pytest.mark.parametrize("name", ["no-such-model", "missing/folder"])
def test_an_unknown_model_is_answered_with_what_there_is(name, monkeypatch, capsys):
    assert inside(["unmix", "x.csv", "--model", name], monkeypatch) == 2
    assert f"no bundle '{name}'" in capsys.readouterr().err

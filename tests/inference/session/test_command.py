"""`calibrate-session`, `unmix --session` and `train --folder` as a user meets them."""

import json

import pytest

from tests.cli.commands import inside
from tests.inference.bundle import tiny
from tests.inference.bundle.tiny import shared_home  # noqa: F401


@pytest.fixture(scope="module")
def model() -> str:
    tiny.bundle()
    return str(tiny.folder() / "bundle")


def place(name: str) -> str:
    return str(tiny.folder() / name)


def test_a_calibration_is_written_and_used(model, monkeypatch, capsys, tmp_path):
    file = str(tmp_path / "today" / "session.json")
    references = [f"{place('s0_0.csv')}=almond", f"{place('s0_1.csv')}=clove"]
    given = ["calibrate-session", model, *references, "--method", "gain", "-o", file, "--json"]
    assert inside(given, monkeypatch) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "gain" and len(told["gain"]) == 3 and told["left_out"] is True
    assert inside(["unmix", place("s0_2.csv"), "--model", model, "--session", file, "--json"], monkeypatch) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert any("session calibration" in finding for finding in answer["findings"])
    assert inside(["unmix", place("s0_2.csv"), "--model", "simulated", "--session", file], monkeypatch) == 2
    assert "was made for the model tiny" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to calibrate on"),
        (["s0_0.csv=almond", "--method", "magic"], "no method"),
        (["s0_0.csv=petrol"], "holds petrol"),
        (["s0_0.csv=:"], "names no mixture"),
        (["missing.csv=almond"], "missing.csv"),
    ],
)
def test_a_mistake_is_answered_with_its_remedy(model, arguments, message, monkeypatch, capsys, tmp_path):
    given = [place(text) if ".csv" in text else text for text in arguments]
    file = tmp_path / "never.json"
    assert inside(["calibrate-session", model, *given, "-o", str(file)], monkeypatch) == 2
    assert message in capsys.readouterr().err and not file.exists()


def test_a_file_that_is_no_calibration_is_refused(model, monkeypatch, capsys, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    given = ["unmix", place("s0_2.csv"), "--model", model, "--session", str(tmp_path / "bad.json")]
    assert inside(given, monkeypatch) == 2
    assert "no session calibration" in capsys.readouterr().err


def test_training_without_a_file_needs_a_folder_with_labels(monkeypatch, capsys, tmp_path):
    assert inside(["train"], monkeypatch) == 2
    assert "there is no training file" in capsys.readouterr().err
    (tmp_path / "a.csv").write_text(tiny.csv_text(tiny.counts(tiny.shares_of("almond"), 1)))
    assert inside(["train", "--folder", str(tmp_path)], monkeypatch) == 2
    assert "no recording of this folder has a label" in capsys.readouterr().err

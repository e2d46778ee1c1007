"""`unmixnet evaluate` as a user meets it."""

import json

import pytest

from tests.inference.bundle import tiny

from .commands import inside


@pytest.fixture(scope="module")
def model() -> str:
    tiny.baseline()
    return str(tiny.folder() / "perceptron")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> str:
    home = tmp_path_factory.mktemp("fresh")
    tiny.write_folder(home, sessions=2, first=50)
    return str(home)


def test_json_is_one_object(model, fresh, monkeypatch, capsys):
    assert inside(["evaluate", model, fresh, "--json"], monkeypatch) == 0
    evaluation = json.loads(capsys.readouterr().out)
    assert evaluation["recordings"] == 12 and {row["model"] for row in evaluation["rows"]} == {
        "perceptron",
        "mean of training",
    }


def test_tables_for_people_name_the_null(model, fresh, monkeypatch, capsys):
    assert inside(["evaluate", model, fresh], monkeypatch) == 0
    out = capsys.readouterr()
    assert "mean of training" in out.out and "per recording" in out.out and "90 % intervals cover" in out.err


def test_training_recordings_are_refused_unless_asked_for(model, monkeypatch, capsys):
    assert inside(["evaluate", model, str(tiny.folder())], monkeypatch) == 2
    assert "36 of 36 test recordings were used to train" in capsys.readouterr().err
    assert inside(["evaluate", model, str(tiny.folder()), "--seen"], monkeypatch) == 0
    assert "this measures memory" in capsys.readouterr().err


def test_an_unknown_split_is_refused(model, monkeypatch, capsys):
    assert inside(["evaluate", model, "smellnet:windows"], monkeypatch) == 2
    assert "measures memory" in capsys.readouterr().err

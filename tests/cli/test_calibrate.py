"""`unmixnet calibrate`: a frozen simulator and its report; labels of test recordings change nothing in it."""

import json

import pytest

from tests.training.calibration.small import hurried, truth, turn
from unmixnet.training.calibration import FrozenSimulator, command, setup
from unmixnet.training.config import parse_training

from .commands import inside, json_object

RECIPE = """
[data]
protocol = "small:seen"
baseline = "none"
window_s = 40.0
[model]
rate_Hz = 2.0
step_s = 2.0
start = "clean air"
release = "rise-decay"
"""
pytestmark = pytest.mark.soak  # half a minute; tests/simulator calibrates in make test
COMMAND = ["calibrate", "small:seen", "--quick", "--steps", "1", "--json", "-o"]


@pytest.fixture(scope="module", autouse=True)
def _small():
    """A small data set under a name of its own."""
    with pytest.MonkeyPatch.context() as patch:
        hurried(patch)
        patch.setattr(setup, "recipe", lambda name: parse_training(RECIPE))
        patch.setattr(command, "protocol_fold", lambda name, root: turn(truth()))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A calibration by the command: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("calibrated") / "sim"
    with pytest.MonkeyPatch.context() as patch:
        import contextlib
        import io

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert inside([*COMMAND, str(folder)], patch) == 0
    return folder, json_object(out.getvalue())


def test_the_command_prints_one_object_and_leaves_a_frozen_simulator_with_its_report(made):
    folder, printed = made
    assert FrozenSimulator.load(folder).sha256 == printed["sha256"]
    names = {path.name for path in folder.iterdir()}
    assert {"frozen", "stages", "report.json", "report.md"} <= names
    assert {"explained.png", "determined.png", "traces.png"} <= names
    report = json.loads((folder / "report.json").read_text())
    assert {name.replace(" ", "_") for name in report} == printed.keys() - {"schema"}
    assert report["scores"] == printed["scores"]


def test_every_law_is_scored_in_and_out_of_sample_without_nuisances_first(made):
    _, printed = made
    for law in ("physics", "linear", "pure mean", "constant"):
        ways = [(score["where"], score["levels"]) for score in printed["scores"] if score["law"] == law]
        assert ways[0] == ("in sample", "none")
        assert ("test", "none") in ways
    assert all(score["hi"] >= score["total"] >= score["lo"] for score in printed["scores"])


def test_labels_of_test_recordings_do_not_touch_the_simulator(made, tmp_path, monkeypatch, capsys):
    _, printed = made
    monkeypatch.setattr(command, "protocol_fold", lambda name, root: turn(truth(), permuted=True))
    assert inside([*COMMAND, str(tmp_path / "sim")], monkeypatch) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["sha256"] == printed["sha256"]
    mine, theirs = (
        [score["total"] for score in report["scores"] if score["where"] == "test"] for report in (printed, other)
    )
    assert mine != theirs


def test_twin_labels_of_training_recordings_do(made, tmp_path, monkeypatch, capsys):
    _, printed = made
    monkeypatch.setattr(command, "protocol_fold", lambda name, root: turn(truth(seed=1)))
    assert inside([*COMMAND, str(tmp_path / "sim")], monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["sha256"] != printed["sha256"]


def test_a_frozen_folder_is_refused(made, monkeypatch, capsys):
    folder, _ = made
    assert inside([*COMMAND, str(folder)], monkeypatch) == 2
    assert "not refitted" in capsys.readouterr().err


def test_a_data_set_without_recipes_of_mixtures_is_refused():
    from unmixnet.errors import UnmixError

    with pytest.raises(UnmixError, match="smellnet-mixture"):
        setup.protocol_fold("smellnet-base:official")
    with pytest.raises(UnmixError, match="no protocol"):
        setup.protocol_fold("nothing")

"""`python -m studies` and `unmixnet fingerprints` as a user meets them."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from studies.options import selection


def run(*arguments: str, program: str = "studies") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", program, *arguments], capture_output=True, text=True, cwd=ROOT)


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data_folder() -> Path:
    chosen = os.environ.get("UNMIXNET_DATA")
    if not chosen or not (Path(chosen) / "uci322").is_dir():
        pytest.skip("needs the plateaus of UCI 322: set UNMIXNET_DATA to a folder that holds uci322/")
    return Path(chosen)


def test_json_is_one_object_and_a_second_run_resumes(data_folder, tmp_path):
    target = tmp_path / "peers.json"
    common = ("peers", "--only", "plateaus", "--seeds", "1", "--out", str(target), "--json")
    first = json.loads(run(*common).stdout)
    assert first["tables"] == ["plateaus"] and first["rows"] and json.loads(target.read_text()) == first
    again = json.loads(run(*common, "--resume").stdout)
    assert again["rows"] == first["rows"] and again["earlier"][0]["tables"] == ["plateaus"]


def test_an_unknown_table_names_the_known_ones():
    done = run("peers", "--only", "offical")
    assert done.returncode == 2 and "official" in done.stderr and done.stdout == ""


def test_without_data_the_error_says_where_to_get_it(tmp_path):
    done = run("fingerprints", "smellnet-mixture", "--data", str(tmp_path / "nowhere"), program="unmixnet")
    assert done.returncode == 2 and "data fetch" in done.stderr and "Traceback" not in done.stderr


def test_scores_come_again_from_stored_predictions_without_training(tmp_path):
    import numpy as np

    from studies.harness.predictions import ModelAnswers, write_predictions
    from unmixnet.recordings.samples import Task

    rng, names = np.random.default_rng(0), tuple(f"r{i}" for i in range(8))
    truth = np.eye(12)[rng.integers(12, size=8)]

    def answers(model: str, values: np.ndarray) -> ModelAnswers:
        return ModelAnswers("simulated", "simulated:seen", "test_seen", Task.RATIOS, model, 0, names, names, values)

    target = tmp_path / "simulated.json"
    write_predictions(
        tmp_path / "predictions" / "simulated.parquet",
        [answers("truth", truth), answers("oracle", truth), answers("shrug", np.full((8, 12), 1 / 12))],
    )
    again = ("simulated", "--from-predictions", "--out", str(target), "--json")
    found = json.loads(run(*again).stdout)
    error = {row["model"]: row["mean"] for row in found["rows"] if row["metric"] == "MAE"}
    assert error == {"oracle": 0, "shrug": pytest.approx(2 * 11 / 144)}
    target.write_text(json.dumps(found))
    assert json.loads(run(*again).stdout)["agreement"]["largest difference"] == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--only", "unmixnte"), "unmixnet"),
        (("--study", "simulated-16"), "simulated-8"),
        (("--size", "huge"), "paper"),
        (("--from-predictions", "--out", "nowhere/x.json"), "--from-predictions"),
    ],
)
def test_a_study_that_cannot_be_run_says_what_can(arguments, hint):
    done = run("simulated", *arguments)
    assert done.returncode == 2 and hint in done.stderr and done.stdout == "" and "Traceback" not in done.stderr


def test_the_command_that_is_stored_can_be_typed_again():
    names = ["fick", "extra-trees (unmixnet's statistics)"]
    stored = selection(names, ["base"])
    assert shlex.split(stored) == ["--study", "base", "--only", names[0], "--only", names[1]]

"""Scores stand beside the mean of training, and recordings that were seen are refused."""

import dataclasses

import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.errors import ConfigError
from unmixnet.inference.evaluate import evaluate, scoring_set
from unmixnet.recordings.pieces import SplitError


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> str:
    """Two sessions that no bundle has seen."""
    home = tmp_path_factory.mktemp("fresh")
    tiny.write_folder(home, sessions=2, first=50)
    return str(home)


@pytest.fixture(scope="module")
def result(fresh):
    made = tiny.baseline()
    return evaluate(made, scoring_set(made, fresh))


def row(result, level: str, model: str, metric: str):
    (found,) = [r for r in result.rows if (r.level, r.model, r.metric) == (level, model, metric)]
    return found


def test_rows_of_model_and_mean_at_both_levels(result):
    assert result.recordings == 12 and result.seen == ()
    for level in ("window", "recording"):
        for model in ("perceptron", "mean of training"):
            found = row(result, level, model, "MAE")
            assert found.lo <= found.mean <= found.hi and found.n == 12


def test_the_mean_of_training_scores_what_it_must(result):
    truth = np.array([tiny.shares_of(recipe) for recipe in tiny.RECIPES])
    expected = np.abs(truth - truth.mean(axis=0)).mean()
    assert row(result, "recording", "mean of training", "MAE").mean == pytest.approx(expected, abs=1e-6)


def test_coverage_and_verdicts_are_shares(result):
    for value in (result.coverage, result.covered_present, result.width, result.nothing, result.unlike):
        assert 0 <= value <= 1


def test_recordings_of_the_training_set_are_refused_even_under_other_names(tmp_path):
    made = tiny.baseline()
    tiny.write_folder(tmp_path, sessions=1)
    (tmp_path / "s0_0.csv").rename(tmp_path / "renamed.csv")
    (tmp_path / "manifest.csv").write_text("file,label\nrenamed.csv,almond\n")
    with pytest.raises(SplitError, match=r"1 of 1 test recordings were used .* renamed.csv: the score would measure"):
        evaluate(made, scoring_set(made, str(tmp_path)))
    allowed = evaluate(made, scoring_set(made, str(tmp_path)), allow_seen=True)
    assert allowed.seen == ("renamed.csv",)


def test_only_recordings_that_the_manifest_calls_test_are_scored(fresh, tmp_path):
    tiny.write_folder(tmp_path, sessions=1, first=60)
    text = (tmp_path / "manifest.csv").read_text().replace("almond,60,all", "almond,60,test")
    (tmp_path / "manifest.csv").write_text(text)
    assert len(scoring_set(tiny.baseline(), str(tmp_path)).recordings) == 1


def test_a_substance_that_the_bundle_does_not_know_is_named(tmp_path):
    tiny.write_folder(tmp_path, sessions=1, first=61)
    (tmp_path / "manifest.csv").write_text("file,label\ns61_0.csv,rose\n")
    made = tiny.baseline()
    with pytest.raises(ConfigError, match="the label holds rose, which the bundle perceptron does not have"):
        evaluate(made, scoring_set(made, str(tmp_path)))


def test_a_perfect_model_would_score_zero(fresh, monkeypatch):
    """The scores are those of the shares: a calibration that tells the truth has no error."""
    made = tiny.baseline()
    test = scoring_set(made, fresh)
    truth = iter([r.label.vector(made.components) for r in test.recordings])
    cheat = dataclasses.replace(made)
    monkeypatch.setattr(type(made.calibration), "shares", lambda self, windows: next(truth))
    assert row(evaluate(cheat, test), "recording", "perceptron", "MAE").mean == 0

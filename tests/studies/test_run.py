"""A tiny study from end to end: interrupted is uninterrupted, and its rows can be computed again."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from studies.harness.definitions import Study, StudyFold, chosen
from studies.harness.jobs import Options, config_of, fold_jobs
from studies.harness.predictions import read_predictions, recording_rows, write_predictions
from studies.harness.progress import Reporter
from studies.harness.results import agreement, collect
from studies.harness.run import run_jobs
from studies.harness.variants import Network
from studies.harness.work import Job, Work
from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording
from unmixnet.training.trainer import TrainingError

SMALL = (("training.epochs", 2), ("training.patience", 2), ("data.window_s", 4.0), ("data.stride_s", 3.0))
FOODS = ("apple", "banana", "clove")
OPTIONS = Options(seeds=2, changes=SMALL)


class Stop(Reporter):
    """Presses Ctrl-C in the second epoch of the n-th job."""

    def __init__(self, after: int) -> None:
        self.after, self.count, self.done = after, 0, 0

    def start(self, job: Job, epochs: int) -> None:
        self.count += 1

    def epoch(self, entry) -> None:
        if self.count > self.after and entry["epoch"] == 2:
            raise KeyboardInterrupt

    def finish(self, job, facts, left_s) -> None:
        self.done += 1


def _read(data: Dataset, entry: Entry) -> Recording:
    """Ten seconds of three sensors that answer to the shares of their own substance, with noise."""
    rng = np.random.default_rng(int(entry.path[1:]))
    level = 200 + 400 * np.array([[0.8, 0.2, 0.1], [0.1, 0.7, 0.3], [0.2, 0.1, 0.9]]) @ entry.label.vector(FOODS)
    counts = 100 + np.linspace(0, 1, 100)[:, None] * level + rng.normal(0, 3, (100, 3))
    channels = ("MOX1", "MOX2", "MOX3")
    health = (ChannelHealth.OK,) * 3
    return Recording(
        np.arange(100) / 10, counts, channels, ("counts",) * 3, 10.0, "made up", entry.path, entry.label, health
    )


@pytest.fixture(scope="module")
def fold() -> StudyFold:
    """Recordings that cost nothing."""
    rng = np.random.default_rng(0)
    labels = [Mixture.from_parts(FOODS, (100 * share).tolist()) for share in rng.dirichlet(np.ones(3), 40)]
    entries = tuple(Entry(f"r{i}", "all", label, f"s{i % 5}") for i, label in enumerate(labels))
    data = Dataset("made up", Path("made up"), entries, FOODS, _read)
    pieces = tuple(Piece(entry.path, entry.label, entry.session) for entry in entries)
    tests = {"simulated:seen": pieces[30:36], "simulated:unseen": pieces[36:]}
    return StudyFold("all", data, pieces[:30], tests, dict.fromkeys(tests, "test"))


@pytest.fixture(scope="module")
def study() -> Study:
    (one,) = chosen("simulated", ("simulated",), ("chance", "mean", "1-NN", "5-NN (whole recording)", "mlp"))
    windows = {"1-NN": 40, "5-NN (whole recording)": 100}

    def cut(variant):
        """Peers see this study's sensors and lengths."""
        if isinstance(variant, Network):
            return replace(variant, keep=True)
        length = windows.get(variant.name, 40)
        sees = replace(variant.windows, channels=("MOX1", "MOX2", "MOX3"), window=length, stride=length)
        return replace(variant, windows=sees)

    return replace(one, variants=tuple(cut(variant) for variant in one.variants))


@pytest.fixture(scope="module")
def jobs(study, fold) -> list[Job]:
    return fold_jobs(study, fold, OPTIONS)


@pytest.fixture(scope="module")
def whole(jobs, tmp_path_factory) -> Work:
    work = Work(tmp_path_factory.mktemp("whole"))
    assert run_jobs(jobs, work, None, OPTIONS) == []
    return work


def _values(work: Work, jobs: list[Job]) -> list[np.ndarray]:
    return [guess.values for job in jobs for guess in work.read(job).guesses.values()]


def test_every_model_answers_every_window_with_ratios(whole, jobs):
    for values in _values(whole, jobs):
        assert values.shape[1] == 3 and np.all(values >= 0)
        np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-5)
    seeds = {job.variant.name: [] for job in jobs}
    for job in jobs:
        seeds[job.variant.name].append(whole.read(job).guesses["simulated:seen"].values)
    assert not np.array_equal(*seeds["mlp"])


def test_a_study_that_was_stopped_ends_like_one_that_was_not(whole, jobs, tmp_path):
    few = [job for job in jobs if job.variant.name in ("mean", "mlp")]
    work, stop = Work(tmp_path), Stop(after=2)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(few, work, None, OPTIONS, stop)
    assert stop.done == 2 and sum(work.read(job) is not None for job in few) == 2
    again = Stop(after=99)
    run_jobs(few, work, None, OPTIONS, again)
    assert again.count == 1
    for a, b in zip(_values(work, few), _values(whole, few), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_second_run_trains_nothing(whole, jobs):
    watch = Stop(after=99)
    run_jobs(jobs, whole, None, OPTIONS, watch)
    assert watch.count == 0


def test_rows_computed_from_stored_predictions_are_the_rows(whole, jobs, tmp_path):
    found = collect(jobs, whole)
    write_predictions(tmp_path / "p.parquet", found.answers)
    back = [asdict(row) for row in recording_rows(read_predictions(tmp_path / "p.parquet"))]
    stored = [asdict(row) for row in found.rows]
    assert back == [row for row in stored if row["level"] == "recording"]
    assert agreement(back, stored)["largest difference"] == 0
    assert found.missing == [] and {row["model"] for row in stored} >= {"chance", "mean", "1-NN", "mlp"}
    whole_recording = [row for row in stored if row["model"] == "5-NN (whole recording)"]
    assert {row["level"] for row in whole_recording} == {"recording"}
    assert {row["seeds"] for row in stored if row["model"] == "mlp"} == {2}


def test_a_committee_answers_with_the_mean_of_the_seeds_of_a_network(whole, jobs):
    found = collect(jobs, whole)
    told = {(one.model, one.seed): one.values for one in found.answers if one.protocol == "simulated:seen"}
    np.testing.assert_allclose(told["mlp (committee)", 0], (told["mlp", 0] + told["mlp", 1]) / 2, atol=1e-6)
    assert {model for model, _ in told if "committee" in model} == {"mlp (committee)"}, "chance has seeds, but is none"
    error = {row.model: row.mean for row in found.rows if (row.metric, row.level) == ("MAE", "window")}
    assert error["mlp (committee)"] <= error["mlp"], "a mean of answers is never worse than the mean of their errors"
    alone = collect([job for job in jobs if job.seed == 0], whole)
    assert not [row for row in alone.rows if "committee" in row.model], "one seed is no committee"


def test_twin_a_changed_prediction_changes_the_rows(whole, jobs, tmp_path):
    found = collect(jobs, whole)
    bent = [replace(one, values=np.roll(one.values, 1, axis=1)) if one.model == "mlp" else one for one in found.answers]
    rows = [asdict(row) for row in recording_rows(bent)]
    assert agreement(rows, [asdict(row) for row in found.rows])["largest difference"] > 1e-3


def test_facts_say_how_each_model_was_trained(whole, jobs):
    facts = {one.model: one for one in collect(jobs, whole).facts}
    assert facts["mlp"].parameters > 1000 and facts["mlp"].epochs == 2 and facts["mlp"].runs == 2
    assert 0 < facts["mlp"].validation < 0.3 and facts["mean"].validation is None


def test_kept_weights_give_the_predictions_again(whole, jobs):
    from studies.harness.benches import NetworkBench, trained
    from unmixnet.model.predict import window_ratios
    from unmixnet.recordings.pieces import Recall

    job = next(job for job in jobs if job.variant.name == "mlp")
    bench = NetworkBench(config_of(job.study, job.variant, OPTIONS), job.fold, Recall(None))
    guess = window_ratios(trained(bench, job, whole), bench.windows(job.fold.tests["simulated:seen"])[0])
    np.testing.assert_array_equal(guess, whole.read(job).guesses["simulated:seen"].values)


def test_a_training_that_breaks_down_is_reported_and_the_others_go_on(jobs, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise TrainingError("the gradient is not finite")

    monkeypatch.setattr("studies.harness.benches.train", broken)
    few = [job for job in jobs if job.variant.name in ("mlp", "mean") and job.seed == 0]
    work = Work(tmp_path)
    failures = run_jobs([*reversed(few)], work, None, OPTIONS)
    assert [failure.model for failure in failures] == ["mlp"] and "finite" in failures[0].problem
    found = collect(few, work)
    assert "simulated: mlp" in found.missing
    assert "mean" in {row.model for row in found.rows}

"""What is left out of training is really left out, and a substance that looks like nothing else is found."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies.harness.definitions import StudyFold
from studies.harness.variants import changed
from studies.harness.work import Work
from studies.novelty.novelty import leave_out, novelty_config, novelty_fold, novelty_rows
from unmixnet.errors import ConfigError
from unmixnet.recordings.datasets import Dataset, Entry, load_dataset
from unmixnet.recordings.pieces import Piece, Recall
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording

FOODS = ("apple", "banana", "clove")
RECIPES = (("apple",), ("banana",), ("clove",), ("apple", "banana"), ("apple", "clove"), ("banana", "clove"))


def _read(data: Dataset, entry: Entry) -> Recording:
    """Ten seconds of three sensors; the third answers to clove alone."""
    rng = np.random.default_rng(int(entry.path[1:]))
    strength = np.array([[0.8, 0.2, 0.1], [0.1, 0.7, 0.3], [0.0, 0.0, 0.9]]) @ entry.label.vector(FOODS)
    counts = 100 + np.linspace(0, 1, 100)[:, None] * 400 * strength + rng.normal(0, 3, (100, 3))
    channels, health = ("MOX1", "MOX2", "MOX3"), (ChannelHealth.OK,) * 3
    return Recording(
        np.arange(100) / 10, counts, channels, ("counts",) * 3, 10.0, "made up", entry.path, entry.label, health
    )


@pytest.fixture(scope="module")
def fold() -> StudyFold:
    rows = [
        (Mixture.from_parts(names, [100 / len(names)] * len(names)), f"s{s}") for s in range(12) for names in RECIPES
    ]
    entries = tuple(Entry(f"r{i}", "all", label, session) for i, (label, session) in enumerate(rows))
    pieces = tuple(Piece(entry.path, entry.label, entry.session) for entry in entries)
    data = Dataset("made up", Path("made up"), entries, FOODS, _read)
    return StudyFold("all", data, pieces[:36], {"simulated:seen": pieces[36:]}, {"simulated:seen": "held-out sessions"})


@pytest.fixture(scope="module")
def config():
    small = {"model.name": "mlp", "data.window_s": 4.0, "data.stride_s": 3.0}
    return changed(novelty_config("simulated", quick=True), small)


def test_the_substance_is_gone_from_training_and_from_the_known(fold):
    novel = leave_out(fold, "clove")
    assert novel.fold.data.components == ("apple", "banana")
    for pieces in (novel.fold.train, *novel.fold.tests.values()):
        assert pieces and not any("clove" in piece.label.support for piece in pieces)
    assert len(novel.unknown) == 18 and set(np.round(novel.share, 6)) == {0.5, 1.0}


@pytest.mark.parametrize("dataset", ["simulated"])
def test_known_and_unknown_come_from_sessions_that_training_does_not_have(dataset):
    fold = novelty_fold(dataset, None)
    trained = {piece.session for piece in fold.train}
    for name in load_dataset(dataset).components:
        novel = leave_out(fold, name)
        asked = (*novel.unknown, *(piece for pieces in novel.fold.tests.values() for piece in pieces))
        assert novel.unknown and not trained & {piece.session for piece in asked}


def test_an_unknown_data_set_or_substance_is_answered_with_what_there_is(fold):
    with pytest.raises(ConfigError, match="apple"):
        leave_out(fold, "aple")
    with pytest.raises(ConfigError, match="simulated"):
        novelty_fold("smellnet-base", None)


@pytest.fixture(scope="module")
def found(fold, config, tmp_path_factory):
    work = Work(tmp_path_factory.mktemp("work"))
    rows = novelty_rows(config, leave_out(fold, "clove"), Recall(None), work)
    return {row.score: row for row in rows}, work


def test_a_sensor_that_never_answered_before_is_noticed(found):
    rows, _ = found
    assert list(rows) == ["novelty", "embedding alone", "signal statistics alone"]
    for row in rows.values():
        assert (row.known, row.unknown) == (18, 18) and 0 <= row.lo <= row.auroc <= row.hi <= 1
        assert 0 <= row.false_alarms <= 1
    assert rows["signal statistics alone"].auroc == 1 and rows["novelty"].auroc > 0.9
    assert rows["novelty"].auroc_half == rows["novelty"].auroc


def test_what_is_finished_is_not_trained_again(found, fold, config):
    rows, work = found

    def stop(name, steps):
        raise AssertionError("trained again")

    again = novelty_rows(config, leave_out(fold, "clove"), Recall(None), work, progress=stop)
    assert {row.score: row for row in again} == rows


def test_twin_known_recordings_called_unknown_are_not_noticed(fold, config):
    novel = leave_out(fold, "clove")
    (known,) = novel.fold.tests.values()
    fake = replace(
        novel,
        fold=replace(novel.fold, tests={"simulated:seen": known[:9]}),
        unknown=known[9:],
        share=np.ones(9),
    )
    rows = {row.score: row for row in novelty_rows(config, fake, Recall(None))}
    assert rows["novelty"].found < 0.5 and rows["novelty"].lo < 0.5

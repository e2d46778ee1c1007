"""Named splits hold what the protocol says, and nothing leaks from test to training."""

import numpy as np
import pytest

from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.labels import parse_recipe
from unmixnet.recordings.pieces import Fold, Piece, SplitError, episodes, folds_of_episodes, forward_pieces
from unmixnet.recordings.protocols import NAMES, hold_out, protocol
from unmixnet.recordings.recording import ChannelHealth, Recording

COUNTS = {
    "smellnet-mixture:official:seen": (1, 1001, 247),
    "smellnet-mixture:clean:seen": (1, 404, 66),
    "smellnet-mixture:clean:unseen": (1, 404, 46),
    "smellnet-mixture:new-session": (1, 193, 36),
    "smellnet-base:official": (1, 250, 50),
    "smellnet-base:six-fold": (6, 250, 50),
}


@pytest.mark.parametrize(("name", "counts"), COUNTS.items())
def test_the_split_has_the_stated_size(name, counts, smellnet):
    made = protocol(name, smellnet.parent)
    assert (len(made.folds), len(made.folds[0].train), len(made.folds[0].test)) == counts


def test_clean_unseen_supports_are_new_and_five(smellnet):
    (fold,) = protocol("smellnet-mixture:clean:unseen", smellnet.parent).folds
    train = {piece.label.support for piece in fold.train}
    test = {piece.label.support for piece in fold.test}
    assert len(test) == 5 and not train & test


def test_new_sessions_are_later_and_their_recipes_known(smellnet):
    (fold,) = protocol("smellnet-mixture:new-session", smellnet.parent).folds
    assert {int(piece.session) for piece in fold.train} == set(range(7))
    assert {int(piece.session) for piece in fold.test} <= {10, 11, 12}


@pytest.mark.parametrize(("what", "key"), [("session", lambda p: p.session), ("support", lambda p: p.label.support)])
def test_leave_out_never_trains_on_what_it_tests(what, key, smellnet):
    made = protocol(f"smellnet-mixture:leave-{what}-out", smellnet.parent)
    tested = [piece.path for fold in made.folds for piece in fold.test]
    assert len(tested) == len(set(tested)) == 570
    for fold in made.folds:
        assert len({key(piece) for piece in fold.test}) == 1
        assert not {key(piece) for piece in fold.test} & {key(piece) for piece in fold.train}


def test_every_base_recording_is_tested_once_and_the_authors_test_comes_first(smellnet):
    made = protocol("smellnet-base:six-fold", smellnet.parent)
    tested = [piece.path for fold in made.folds for piece in fold.test]
    assert len(set(tested)) == 300
    assert all("/testing/" in piece.path for piece in made.folds[0].test)


def test_a_split_by_windows_is_refused_by_name():
    with pytest.raises(SplitError, match="memory, not recognition"):
        protocol("smellnet-mixture:windows")


def test_a_recording_on_both_sides_is_refused_however_it_came_there():
    a, b = Piece("a.csv"), Piece("b.csv")
    Fold("fine", (a,), (b,))
    with pytest.raises(SplitError, match="same recording"):
        Fold("leaks", (a, b), (a,))
    with pytest.raises(SplitError, match="not by windows"):
        Fold("windows", (Piece("a.csv", start=0, stop=100),), (Piece("a.csv", start=50, stop=150),))


def test_an_unknown_protocol_names_the_known_ones():
    with pytest.raises(SplitError, match="smellnet-base:official"):
        protocol("smellnet-base:offical")
    assert {name.split(":")[0] for name in NAMES} == {
        "smellnet-mixture", "smellnet-base", "uci-dynamic", "uci-plateaus", "simulated", "simulated-8", "folder",
        "high-coupling",
    }  # fmt: skip


def _rig(levels: list[float]) -> Recording:
    ppm = np.repeat(levels, 100)[:, None]
    n = len(ppm)
    return Recording(
        np.arange(n) / 10, np.zeros((n, 1)), ("s",), ("25 nS",), 10.0, "rig", "rig.txt", None,
        (ChannelHealth.OK,), gases=("CO",), exposure_ppm=ppm,
    )  # fmt: skip


def test_episodes_lie_between_changes_and_folds_hold_out_each_once():
    rig = _rig([0, 10, 0, 20, 0, 5])
    runs = episodes(rig)
    assert [(run.start, run.stop) for run in runs] == [(100 * i, 100 * i + 100) for i in range(6)]
    tested = [run for fold in folds_of_episodes(rig) for run in fold.test]
    assert sorted(tested, key=lambda run: run.start) == list(runs)


def test_forward_tests_only_the_future():
    fold = forward_pieces(_rig([0, 10, 0]))
    assert fold.train[0].stop == fold.test[0].start == 210


def test_validation_is_split_off_by_session_where_known():
    pieces = [Piece(f"{s}/{i}.csv", session=str(s)) for s in range(5) for i in range(10)]
    fold = hold_out(pieces)
    assert fold.test and not {p.session for p in fold.test} & {p.session for p in fold.train}
    assert 10 <= len(fold.test) <= 20
    unknown = [Piece(f"{i}.csv") for i in range(50)]
    assert len(hold_out(unknown).test) == 10


def test_a_folder_with_a_manifest_has_the_same_splits(tmp_path):
    rng = np.random.default_rng(0)
    rows = ["file,label,session,split"]
    for i in range(12):
        walk = rng.integers(300, 700, (80, 2)).cumsum(0) % 997
        text = "".join(f"{100 * t},{a},{b}\n" for t, (a, b) in enumerate(walk))
        (tmp_path / f"r{i}.csv").write_text("timestamp_ms,NO2,CO\n" + text)
        label, split = ["coffee", "tea", "coffee50_tea50"][i % 3], "test" if i > 8 else "train"
        rows.append(f"r{i}.csv,{label},day{i // 4},{split}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    assert load_dataset("folder", tmp_path).entries[0].label == parse_recipe("coffee")
    (fold,) = protocol("folder:manifest", tmp_path).folds
    assert (len(fold.train), len(fold.test)) == (9, 3)
    assert [fold.name for fold in protocol("folder:leave-session-out", tmp_path).folds] == [
        "day0",
        "day1",
        "day2",
    ]
    assert len(protocol("folder:leave-support-out", tmp_path).folds) == 3

"""The trainer: stops when it should, remembers the best, logs each epoch once, and survives being stopped."""

import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.files import ArtefactError
from unmixnet.training.epoch import start_state
from unmixnet.training.objective import Recipe
from unmixnet.training.trainer import fit, load_checkpoint

from .runs import PLAN, Scripted, T, arrays, lines, mlp

MODEL, ARRAYS = mlp(), arrays()


def run(scores, folder=None, *, plan=PLAN, **options):
    """Train with an epoch whose scores are given."""
    epoch = Scripted(scores)
    return fit(MODEL, ARRAYS, plan, Recipe(), window=T, folder=folder, epoch_of=epoch, **options), epoch


def weights(model) -> float:
    """The number that a scripted epoch wrote into every weight."""
    return float(model.W_1.weight[0, 0])


def test_it_runs_all_epochs_and_keeps_the_best():
    done, epoch = run([5.0, 3.0, 4.0, 6.0])
    assert (done.epochs, done.best_epoch, done.score, epoch.calls) == (4, 2, 3.0, 4)
    assert weights(done.model) == 2
    assert [entry["validation"] for entry in done.history] == [5, 3, 4, 6]
    assert not done.interrupted


def test_it_stops_after_so_many_epochs_without_a_better_score():
    plan = replace(PLAN, epochs=20, patience=3)
    done, _ = run([5.0, 3.0] + 18 * [4.0], plan=plan)
    assert (done.epochs, done.best_epoch) == (5, 2)


def test_twin_a_score_that_keeps_falling_is_not_stopped():
    done, _ = run(list(np.linspace(5, 3, 20)), plan=replace(PLAN, epochs=20, patience=3))
    assert (done.epochs, done.best_epoch) == (20, 20)


def test_it_stops_on_the_way_where_it_is_told_to():
    done, epoch = run([5.0, 4.0, 3.0, 2.0], until=3)
    assert (done.epochs, done.best_epoch, epoch.calls, weights(done.model)) == (3, 3, 3, 3)


def test_a_run_that_had_stopped_is_not_continued_by_resuming_it(tmp_path):
    plan, scores = replace(PLAN, epochs=20, patience=3), [5.0, 3.0, *[4.0] * 3, *[1.0] * 15]
    once, _ = run(scores, tmp_path, plan=plan)
    again, epoch = run(scores, tmp_path, plan=plan, resume=True)
    assert epoch.calls == 0
    assert (again.epochs, again.score, weights(again.model)) == (once.epochs, once.score, weights(once.model))


def test_a_run_that_was_complete_is_not_continued_either(tmp_path):
    run([4.0, 3.0, 2.0, 1.0], tmp_path)
    again, epoch = run([4.0, 3.0, 2.0, 1.0], tmp_path, resume=True)
    assert (epoch.calls, again.epochs, weights(again.model)) == (0, 4, 4)


def test_stopping_by_hand_saves_and_resuming_finishes_with_one_line_per_epoch(tmp_path):
    def watch(entry):
        if entry["epoch"] == 3:
            raise KeyboardInterrupt

    stopped, _ = run([4.0, 3.0, 2.0, 1.0], tmp_path, watch=watch)
    assert stopped.interrupted
    assert (stopped.epochs, len(lines(tmp_path))) == (3, 3)
    done, epoch = run([4.0, 3.0, 2.0, 1.0], tmp_path, resume=True)
    assert (epoch.calls, done.epochs, weights(done.model)) == (1, 4, 4)
    assert [json.loads(line)["epoch"] for line in lines(tmp_path)] == [1, 2, 3, 4]


def test_epochs_after_the_last_checkpoint_are_repeated_and_logged_once(tmp_path):
    def watch(entry):
        if entry["epoch"] == 3:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        run([4.0, 3.0, 2.0, 1.0], tmp_path, watch=watch, every=2)
    assert len(lines(tmp_path)) == 3
    done, epoch = run([4.0, 3.0, 2.0, 1.0], tmp_path, resume=True)
    assert (epoch.calls, done.epochs) == (2, 4)
    assert [json.loads(line)["epoch"] for line in lines(tmp_path)] == [1, 2, 3, 4]
    assert [entry["epoch"] for entry in done.history] == [1, 2, 3, 4]


def test_without_resume_it_begins_anew(tmp_path):
    run([4.0, 3.0, 2.0, 1.0], tmp_path)
    _, epoch = run([4.0, 3.0, 2.0, 1.0], tmp_path)
    assert epoch.calls == 4
    assert len(lines(tmp_path)) == 4


def test_the_checkpoint_of_another_configuration_is_refused(tmp_path):
    run([4.0, 3.0, 2.0, 1.0], tmp_path, tag="one")
    with pytest.raises(ArtefactError, match="another configuration"):
        run([4.0, 3.0, 2.0, 1.0], tmp_path, tag="two", resume=True)


def test_the_checkpoint_of_another_model_is_refused_even_under_the_same_tag(tmp_path):
    run([4.0, 3.0, 2.0, 1.0], tmp_path)
    like = start_state({"w": jnp.zeros(7)}, PLAN)
    with pytest.raises(ArtefactError, match=r"expected float64\(7,\)"):
        load_checkpoint(tmp_path / "checkpoint", like=like, tag="")


def test_where_nothing_was_saved_there_is_nothing_to_load(tmp_path):
    assert load_checkpoint(tmp_path / "checkpoint", like=start_state(MODEL, PLAN), tag="") is None


def test_every_epoch_is_watched_with_what_is_logged(tmp_path):
    seen = []
    run([4.0, 3.0, 2.0, 1.0], tmp_path, watch=seen.append)
    assert [json.loads(line) for line in lines(tmp_path)] == seen
    assert seen[0].keys() == {"epoch", "loss", "L_mix", "validation", "best", "seconds"}

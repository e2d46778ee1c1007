"""From recordings to a trained model: statistics of training recordings only, clean air, the direction of sensors."""

import json

import jax
import numpy as np
import pytest

from studies.harness.variants import changed
from unmixnet.errors import ConfigError
from unmixnet.recordings.preprocessing import Preprocessing
from unmixnet.training.config import parse_training
from unmixnet.training.examples import Examples
from unmixnet.training.run import clean_air, prepare, train

from .recordings import CHANNELS, COMPONENTS, recording, recordings
from .runs import fingerprint, lines

CONFIG = parse_training(
    """
    [data]
    protocol = "folder:all"
    response = "level"
    window_s = 6.0
    stride_s = 2.0
    [model]
    name = "mlp"
    [training]
    epochs = 2
    batch = 4
    """
)


def ready_for(train_records, validation=()):
    return prepare(CONFIG, train_records, validation, COMPONENTS)


def test_validation_recordings_leave_the_statistics_alone():
    far = [recording(seed=9, parts=(0, 0, 1)), recording(seed=8)]
    assert ready_for(recordings(), far).preprocessing == ready_for(recordings()).preprocessing


def test_arrays_hold_traces_windows_and_the_recording_of_each_window():
    arrays = ready_for(recordings(5), recordings(2)).arrays()
    assert arrays.traces.shape == (5, 20, 2)
    assert arrays.targets.shape == (5, 3)
    assert arrays.windows.shape[1:] == (12, 2)
    np.testing.assert_array_equal(np.unique(arrays.owner), [0, 1])
    assert arrays.truth.shape == (2, 3)


def test_without_validation_there_are_no_windows():
    arrays = ready_for(recordings(5)).arrays()
    assert arrays.windows.shape == (0, 12, 2)
    assert arrays.truth.shape == (0, 3)


def test_sessions_are_numbered_and_unknown_ones_count_as_one():
    named = prepare(CONFIG, recordings(4), (), COMPONENTS, sessions=("monday", "friday", "monday", None)).arrays()
    assert len(set(np.asarray(named.session).tolist())) == 3
    assert named.session[0] == named.session[2]
    np.testing.assert_array_equal(ready_for(recordings(4)).arrays().session, 0)
    with pytest.raises(ConfigError, match="1 sessions for 4 recordings"):
        prepare(CONFIG, recordings(4), (), COMPONENTS, sessions=("monday",)).arrays()


def test_channels_that_not_every_recording_has_are_left_out():
    prepared = ready_for([recording(), recording(seed=1, channels=("s1",))])
    assert prepared.preprocessing.channels == ("s1",)
    with pytest.raises(ConfigError, match="share no channel"):
        ready_for([recording(), recording(seed=1, channels=("other",))])


def test_no_recording_is_refused():
    with pytest.raises(ConfigError, match="no recording to train on"):
        ready_for([])


def examples(rows: np.ndarray) -> Examples:
    return Examples(rows[None].astype(np.float32), np.array([len(rows)]), np.ones((1, 1)), ("x",), ("a",))


def test_a_sensor_that_moves_against_the_others_answers_downwards_and_its_air_is_above():
    wave = np.sin(np.linspace(0, 9, 60))
    rows = np.stack([wave, 0.8 * wave, -0.5 * wave], axis=1)
    air, sign = clean_air(Preprocessing(("a", "b", "c")), examples(rows))
    assert sign == (1.0, 1.0, -1.0)
    assert air[0] < rows[:, 0].min()
    assert air[2] > rows[:, 2].max()


def test_with_a_baseline_clean_air_is_where_the_response_is_zero():
    records = recordings()
    fitted = Preprocessing(CHANNELS, baseline="recording", response="level").fit(records)
    air, _ = clean_air(fitted, examples(np.random.default_rng(0).normal(size=(30, 2))))
    np.testing.assert_allclose(np.array(air) * fitted.sd + fitted.mean, 0, atol=1e-12)


def test_training_by_configuration_is_deterministic_and_resumes(tmp_path):
    prepared = ready_for(recordings(6), recordings(2))
    with jax.enable_x64(False), jax.default_prng_impl("unsafe_rbg"):
        once = train(prepared, folder=tmp_path / "once")
        again = train(prepared)
        other = train(prepared, seed=5)
        resumed = train(prepared, folder=tmp_path / "once", resume=True)
    assert fingerprint(once.model) == fingerprint(again.model) == fingerprint(resumed.model)
    assert fingerprint(once.model) != fingerprint(other.model)
    assert once.epochs == len(lines(tmp_path / "once")) == 2


def test_a_refit_is_the_training_on_all_recordings_up_to_the_best_epoch(tmp_path):
    seen, held = recordings(6), recordings(8)[6:]
    prepared = prepare(changed(CONFIG, {"training.refit": True}), seen, held, COMPONENTS)
    with jax.enable_x64(False), jax.default_prng_impl("unsafe_rbg"):
        plain, whole = train(ready_for(seen, held)), train(prepared.whole())
        refit = train(prepared, folder=tmp_path)
        resumed = train(prepared, folder=tmp_path, resume=True)
    assert plain.before_refit is plain.model
    assert fingerprint(refit.before_refit) == fingerprint(plain.model) != fingerprint(refit.model)
    assert fingerprint(resumed.model) == fingerprint(refit.model)
    assert (refit.score, refit.best_epoch, refit.epochs) == (plain.score, plain.best_epoch, plain.epochs)
    again = lines(tmp_path / "refit")
    assert len(again) == refit.best_epoch
    assert [json.loads(line)["loss"] for line in again] == [entry["loss"] for entry in whole.history][: len(again)]

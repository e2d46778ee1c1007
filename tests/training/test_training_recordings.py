"""Which recordings a training file names, and which a model has seen."""

import dataclasses

import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle.bundle import overlap, seen_recording
from unmixnet.recordings.reader import read_recording
from unmixnet.training.config import load_training, parse_training
from unmixnet.training.examples import training_recordings


def test_validation_takes_whole_sessions_and_nothing_twice():
    _, sources = tiny.prepared()
    sides = [{recording.path.split("_")[0] for recording in side} for side in (sources.train, sources.validation)]
    assert not sides[0] & sides[1] and len(sides[0] | sides[1]) == 6
    assert len(sources.train) + len(sources.validation) == 36 and len(sources.validation) >= 0.3 * 36
    assert sources.components == tiny.COMPONENTS


def test_a_folder_protocol_without_a_folder_says_so():
    config = parse_training('[data]\nprotocol = "folder:all"')
    with pytest.raises(ConfigError, match="needs a folder"):
        training_recordings(config)


def test_a_folder_without_labels_says_so(tmp_path):
    (tmp_path / "a.csv").write_text(tiny.csv_text(tiny.counts(np.eye(3)[0], 0)))
    config = parse_training(f'[data]\nprotocol = "folder:all"\nfolder = "{tmp_path}"')
    with pytest.raises(ConfigError, match="no recording of this folder has a label"):
        training_recordings(config)


def test_a_fold_that_does_not_exist_is_refused():
    config = load_training(tiny.folder() / "tiny.toml")
    data = config.data.model_copy(update={"protocol": "folder:leave-session-out", "fold": 6})
    with pytest.raises(ConfigError, match="fold 6 of folder:leave-session-out, which has 6"):
        training_recordings(config.model_copy(update={"data": data}))


def test_a_copy_under_another_name_is_recognised():
    recording = read_recording(tiny.folder() / "s0_0.csv")
    other = read_recording(tiny.folder() / "s0_1.csv")
    copy = dataclasses.replace(recording.select(recording.channels[::-1]), path="copy.csv")
    assert overlap([copy, other], [seen_recording(recording)]) == ["copy.csv"]


def test_twin_a_single_changed_reading_makes_another_recording():
    recording = read_recording(tiny.folder() / "s0_0.csv")
    readings = recording.readings.copy()
    readings[3, 1] += 1
    assert overlap([dataclasses.replace(recording, readings=readings)], [seen_recording(recording)]) == []

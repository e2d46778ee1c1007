"""The packaged files are what they say."""

from unmixnet.examples import example, example_recording
from unmixnet.recordings.reader import read_recording
from unmixnet.training.config import parse_training


def test_the_training_example_is_valid():
    config = parse_training(example("train"))
    assert config.data.protocol == "folder:all" and config.model.name == "unmixnet"


def test_the_recording_reads_without_a_warning():
    recording = read_recording(example_recording())
    assert recording.channels == ("MOX1", "MOX2", "MOX3", "MOX4") and recording.duration_s > 59
    assert not [finding for finding in recording.warnings if finding.code.severity == "warning"]
    assert example_recording().stat().st_size < 20_000

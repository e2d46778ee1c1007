"""Teaching from a few recordings: the configuration, the folds, refusals; and a short training of two substances."""

from dataclasses import replace

import numpy as np
import pytest

from tests.inference.bundle import tiny
from tests.inference.bundle.tiny import shared_home, use_program_cache  # noqa: F401
from unmixnet.errors import ConfigError
from unmixnet.inference.bundle import load_bundle
from unmixnet.inference.unmix import unmix
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording
from unmixnet.training.few_shot import groups_of, train_few_shot
from unmixnet.training.few_shot_config import check_recordings, few_shot_config


def recording_of(shares: dict[str, float], seed: int, *, seconds: float = 20.0) -> Recording:
    ratios = np.array([shares.get(name, 0.0) for name in tiny.COMPONENTS])
    rows = tiny.counts(ratios, seed, seconds=seconds)
    return Recording(
        np.arange(len(rows)) / tiny.RATE,
        rows,
        tiny.CHANNELS,
        ("counts",) * 3,
        float(tiny.RATE),
        "board",
        f"recording {seed}",
        Mixture.from_parts(tuple(shares), tuple(shares.values())),
        (ChannelHealth.OK,) * 3,
    )


def recordings_of(n: int) -> list[Recording]:
    return [recording_of({("almond", "clove")[seed % 2]: 1.0}, seed) for seed in range(n)]


def test_recordings_that_start_in_clean_air_are_taken_whole():
    config = few_shot_config(recordings_of(4), epochs=5, seed=0)
    assert config.data.baseline == "recording" and config.model.start == "clean air"
    assert config.data.response == "log-conductance" and config.data.window_s == pytest.approx(18.8, abs=0.3)


def test_twin_recordings_in_the_odour_are_cut_into_pieces():
    late = [
        replace(recording, time_s=recording.time_s[:50], readings=recording.readings[50:])
        for recording in recordings_of(4)
    ]
    config = few_shot_config(late, epochs=5, seed=0)
    assert config.data.baseline == "none" and config.model.start == "exposed"


def test_up_to_twelve_are_left_out_one_by_one_and_more_in_groups_with_every_recipe():
    assert groups_of(recordings_of(12), seed=0) == [[i] for i in range(12)]
    groups = groups_of(recordings_of(30), seed=0)
    assert sorted(i for group in groups for i in group) == list(range(30)) and len(groups) == 6
    assert all({i % 2 for i in group} == {0, 1} for group in groups)


def test_what_cannot_be_taught_is_refused():
    assert check_recordings(recordings_of(4)) == ("almond", "clove")
    for bad, text in (
        ([replace(recordings_of(1)[0], label=None)], "without a label"),
        (recordings_of(3), "expected at least four of two"),
        ([recording_of({"almond": 1.0}, seed) for seed in range(6)], "6 recordings of 1 substances"),
        ([recording_of({"almond": 1.0}, 0, seconds=4), *recordings_of(4)], "has 3.8 s"),
    ):
        with pytest.raises(ConfigError, match=text):
            check_recordings(bad)


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    use_program_cache()
    progress: list[tuple[str, int, int]] = []
    taught = train_few_shot(
        recordings_of(4),
        name="mine",
        folder=tmp_path_factory.mktemp("taught"),
        watch=lambda *stage: progress.append(stage),
        epochs=60,
    )
    return taught, progress


@pytest.mark.soak  # a training of a minute
def test_it_beats_the_mean_on_recordings_that_were_left_out(training):
    taught, _ = training
    assert taught.leave_one_out < 0.7 * taught.mean and taught.groups == taught.recordings == 4
    assert taught.to_json()["how"] == "each recording left out once"


@pytest.mark.soak  # a training of a minute
def test_progress_is_told_from_start_to_end(training):
    _, progress = training
    stages = list(dict.fromkeys(stage for stage, _, _ in progress))
    assert stages == ["getting ready", *(f"checking, {i} of 4" for i in (1, 2, 3, 4)), "learning", "finishing"]
    assert progress[-1] == ("finishing", 1, 1) and ("learning", 60, 60) in progress


@pytest.mark.soak  # a training of a minute
def test_the_stored_bundle_unmixes_a_new_recording(training):
    taught, _ = training
    bundle = load_bundle(taught.folder)
    assert bundle.digest == taught.bundle.digest and bundle.components == ("almond", "clove")
    for k, food in enumerate(bundle.components):
        assert int(np.argmax(unmix(bundle, recording_of({food: 1.0}, 900 + k)).ratios)) == k
    assert "left out" in bundle.card

"""A lesson of two substances, with few epochs: better than the mean, stored, and usable."""

import numpy as np
import pytest

from tests.inference.bundle.tiny import shared_home, use_program_cache  # noqa: F401
from unmixnet.inference.bundle import load_bundle
from unmixnet.inference.unmix import unmix
from unmixnet.training.few_shot import teach

from .test_lesson import taken, takes

pytestmark = pytest.mark.soak  # a training of a minute


@pytest.fixture(scope="module")
def lesson(tmp_path_factory):
    use_program_cache()
    told: list[tuple[str, int, int]] = []
    taught = teach(
        takes(4),
        name="mine",
        folder=tmp_path_factory.mktemp("lesson"),
        watch=lambda *said: told.append(said),
        epochs=60,
    )
    return taught, told


def test_it_beats_the_mean_on_recordings_that_were_left_out(lesson):
    taught, _ = lesson
    assert taught.leave_one_out < 0.7 * taught.mean and taught.groups == taught.recordings == 4
    assert taught.to_json()["how"] == "each recording left out once"


def test_progress_is_told_from_start_to_end(lesson):
    _, told = lesson
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages == ["getting ready", *(f"checking, {i} of 4" for i in (1, 2, 3, 4)), "learning", "finishing"]
    assert told[-1] == ("finishing", 1, 1) and ("learning", 60, 60) in told


def test_the_stored_bundle_unmixes_a_new_recording(lesson):
    taught, _ = lesson
    bundle = load_bundle(taught.folder)
    assert bundle.digest == taught.bundle.digest and bundle.components == ("almond", "clove")
    for k, food in enumerate(bundle.components):
        assert int(np.argmax(unmix(bundle, taken({food: 1.0}, 900 + k)).ratios)) == k
    assert "left out" in bundle.card

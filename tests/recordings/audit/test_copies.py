"""A copy follows its parent in the noise; two recordings of one odour do not."""

import numpy as np
import pytest

from unmixnet.recordings.audit.copies import UNSUSPECTED_CORRELATION, byte_copies, matches

from .conftest import make_audited, sensor_like


def _library(rng):
    return [make_audited(f"train/almond.{i}.csv", sensor_like(rng)) for i in range(30)]


def _alter(parent, how, rng):
    if how == "shift":
        return parent[37:], 37
    if how == "roll":
        return np.roll(parent, -120, axis=0), 120
    if how == "scale":
        return 0.8 * parent + 33, 0
    if how == "jitter":
        return parent + rng.normal(0, 2, parent.shape), 0
    raise AssertionError(how)


@pytest.mark.parametrize("how", ["shift", "roll", "scale", "jitter"])
def test_an_altered_copy_is_tied_to_its_parent_and_the_shift_is_found(how):
    rng = np.random.default_rng(0)
    library = _library(rng)
    readings, lag = _alter(library[17].recording.readings, how, rng)
    match = matches([make_audited("test/almond.x.csv", readings)], library)["test/almond.x.csv"]
    assert match.file == library[17].file
    assert match.correlation > UNSUSPECTED_CORRELATION
    assert match.lag_rows == lag


def test_recordings_with_the_same_curve_but_their_own_noise_are_not_copies():
    rng = np.random.default_rng(1)
    curve = 500 + 300 * (1 - np.exp(-np.arange(600)[:, None] / np.array([50, 80, 100, 150])))
    recordings = [make_audited(f"a/almond.{i}.csv", np.round(curve + rng.normal(0, 2, (600, 4)))) for i in range(20)]
    found = matches(recordings, recordings)
    levels = np.corrcoef(recordings[0].recording.readings[:, 0], recordings[1].recording.readings[:, 0])[0, 1]
    assert levels > 0.98  # a correlation of levels would have called them copies
    assert max(match.correlation for match in found.values()) < UNSUSPECTED_CORRELATION


def test_a_file_is_never_its_own_parent():
    rng = np.random.default_rng(2)
    recordings = _library(rng)[:3]
    assert all(match.file != file for file, match in matches(recordings, recordings).items())


def test_byte_copies_point_at_the_plainly_named_original():
    rng = np.random.default_rng(3)
    readings, other = sensor_like(rng), sensor_like(rng)
    recordings = [
        make_audited("train/a (1).csv", readings),
        make_audited("train/b.csv", readings),
        make_audited("train/c.csv", other),
    ]
    assert byte_copies(recordings) == {"train/a (1).csv": "train/b.csv"}

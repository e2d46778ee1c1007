"""Labels that disagree are reported whoever disagrees."""

import numpy as np

from unmixnet.recordings.audit.file_names import conflicts, odd_sum, shared_supports, supports

from .conftest import make_audited, sensor_like

RNG = np.random.default_rng(0)


def test_a_folder_that_names_another_recipe_is_a_conflict():
    wrong = make_audited("test/cumin80_peach20/banana80_peach20.x.csv", sensor_like(RNG))
    right = make_audited("test/banana_50_peach_50/banana50_peach50.x.csv", sensor_like(RNG))
    plain = make_audited("test/cumin.x.csv", sensor_like(RNG))
    found = conflicts([wrong, right, plain])
    assert set(found) == {wrong.file}
    assert "cumin80+peach20" in found[wrong.file][0]


def test_equal_bytes_under_two_labels_are_a_conflict_on_both_sides():
    readings = sensor_like(RNG)
    a, b = make_audited("train/almond.x.csv", readings), make_audited("train/apple.x.csv", readings)
    assert set(conflicts([a, b])) == {a.file, b.file}


def test_thirds_written_as_33_sum_to_99():
    assert odd_sum(make_audited("t/a33_b33_c33.csv", sensor_like(RNG))) == 99
    assert odd_sum(make_audited("t/a20_b80.csv", sensor_like(RNG))) is None


def test_a_support_is_shared_whatever_the_ratios():
    recordings = [
        make_audited(f, sensor_like(RNG)) for f in ("train/a20_b80.csv", "test/a50_b50.csv", "test/a50_c50.csv")
    ]
    assert shared_supports(recordings, supports(recordings)) == {"test": 1}

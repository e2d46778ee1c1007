"""Before a lesson: what it is configured for, what is left out together, and what it cannot be made of."""

from dataclasses import replace

import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.errors import ConfigError
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording
from unmixnet.training.few_shot import check_lesson, groups_of, lesson_config


def taken(shares: dict[str, float], seed: int, *, seconds: float = 20.0) -> Recording:
    ratios = np.array([shares.get(name, 0.0) for name in tiny.COMPONENTS])
    rows = tiny.counts(ratios, seed, seconds=seconds)
    return Recording(
        np.arange(len(rows)) / tiny.RATE,
        rows,
        tiny.CHANNELS,
        ("counts",) * 3,
        float(tiny.RATE),
        "board",
        f"take {seed}",
        Mixture.from_parts(tuple(shares), tuple(shares.values())),
        (ChannelHealth.OK,) * 3,
    )


def takes(n: int) -> list[Recording]:
    return [taken({("almond", "clove")[seed % 2]: 1.0}, seed) for seed in range(n)]


def test_recordings_that_start_in_clean_air_are_taken_whole():
    config = lesson_config(takes(4), epochs=5, seed=0)
    assert config.data.baseline == "recording" and config.model.start == "clean air"
    assert config.data.response == "log-conductance" and config.data.window_s == pytest.approx(18.8, abs=0.3)


def test_twin_recordings_in_the_odour_are_cut_into_pieces():
    late = [replace(one, time_s=one.time_s[:50], readings=one.readings[50:]) for one in takes(4)]
    config = lesson_config(late, epochs=5, seed=0)
    assert config.data.baseline == "none" and config.model.start == "exposed"


def test_up_to_twelve_are_left_out_one_by_one_and_more_in_groups_with_every_recipe():
    assert groups_of(takes(12), seed=0) == [[i] for i in range(12)]
    groups = groups_of(takes(30), seed=0)
    assert sorted(i for group in groups for i in group) == list(range(30)) and len(groups) == 6
    assert all({i % 2 for i in group} == {0, 1} for group in groups)


def test_what_cannot_be_taught_is_refused():
    assert check_lesson(takes(4)) == ("almond", "clove")
    for bad, text in (
        ([replace(takes(1)[0], label=None)], "without a label"),
        (takes(3), "expected at least four of two"),
        ([taken({"almond": 1.0}, seed) for seed in range(6)], "6 recordings of 1 substances"),
        ([taken({"almond": 1.0}, 0, seconds=4), *takes(4)], "has 3.8 s"),
    ):
        with pytest.raises(ConfigError, match=text):
            check_lesson(bad)

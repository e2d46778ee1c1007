"""Whatever knows the label without smelling is found; where nothing knows it, nothing is claimed."""

from dataclasses import replace

import numpy as np

from unmixnet.recordings.audit import AuditedFile
from unmixnet.recordings.audit.leaks import leaks, proximity

from .conftest import make_audited

SUBSTANCES = ("almond", "clove", "cumin", "garlic")


def _takes(level_of) -> list[AuditedFile]:
    """Twenty recordings of each substance in training, ten in test, at a level that `level_of` decides."""
    rng = np.random.default_rng(0)
    recordings = []
    for split, count in (("train", 20), ("test", 10)):
        for i in range(count):
            for k, name in enumerate(SUBSTANCES):
                readings = level_of(k, rng) + rng.normal(0, 1, size=(60, 3))
                recordings.append(make_audited(f"{split}/{name}.{i}.csv", readings))
    return recordings


def _environmental(item: AuditedFile) -> AuditedFile:
    recording = replace(item.recording, units=("counts", "counts", "degC"))
    return replace(item, recording=recording)


def test_a_level_that_differs_by_day_reveals_the_label_at_the_first_sample():
    found = leaks(_takes(lambda k, rng: 500 + 50 * k), {})
    first = next(leak for leak in found if "first sample" in leak.source)
    assert first.score > 0.95 and first.null == 0.25 and first.reveals


def test_where_levels_tell_nothing_nothing_is_revealed():
    found = leaks(_takes(lambda k, rng: 500 + 50 * rng.normal()), {})
    assert found and not any(leak.reveals for leak in found)


def test_temperature_alone_is_tried_where_there_is_a_thermometer():
    recordings = [_environmental(item) for item in _takes(lambda k, rng: np.array([500, 500, 20 + 5 * k]))]
    by_source = {leak.source: leak for leak in leaks(recordings, {})}
    assert by_source["temperature, pressure and humidity alone"].score > 0.95
    assert by_source["the first sample of the gas channels alone"].score < 0.5


def test_the_neighbour_in_time_is_asked_for_its_label():
    recordings = _takes(lambda k, rng: 500 + 50 * rng.normal())
    times = {item.file: 10.0 * SUBSTANCES.index(item.file.split("/")[1].split(".")[0]) for item in recordings}
    near = next(leak for leak in leaks(recordings, times) if "nearest in time" in leak.source)
    assert near.score == 1
    assert proximity(recordings, times)[0].median_minutes == 0


def test_without_splits_a_random_fifth_is_held_out():
    recordings = [replace(item, split="all") for item in _takes(lambda k, rng: 500 + 50 * k)]
    assert {leak.test for leak in leaks(recordings, {})} == {"a random fifth"}

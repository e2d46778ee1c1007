"""A replay gives the rows of the file, at the speed that was asked for."""

import asyncio
import math
import time

import numpy as np
import pytest

from unmixnet.errors import UnmixError
from unmixnet.examples import example_recording
from unmixnet.live.sample import Sample, SourceError, SourceEvent
from unmixnet.live.sources.replay import ReplaySource
from unmixnet.recordings.reader import read_recording

EXAMPLE = example_recording()


async def gathered(source) -> list:
    return [item async for item in source.stream()]


def test_a_replay_is_the_file_row_by_row():
    source, known = ReplaySource(EXAMPLE, speed=math.inf), read_recording(EXAMPLE)
    first, *samples, last = asyncio.run(gathered(source))
    assert (first.kind, last.kind) == ("connected", "end")
    np.testing.assert_array_equal([sample.values for sample in samples], known.readings)
    np.testing.assert_array_equal([sample.time_s for sample in samples], known.time_s - known.time_s[0])
    assert source.channels == known.channels and source.unit == "counts"


def test_the_clock_of_a_replay_runs_as_fast_as_asked(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("time_s,A [counts]\n" + "".join(f"{5 + row / 10},{row}\n" for row in range(31)))
    begin = time.monotonic()
    items = asyncio.run(gathered(ReplaySource(path, speed=10.0)))
    assert 0.28 < time.monotonic() - begin < 3
    assert [item.time_s for item in items if isinstance(item, Sample)][-1] == pytest.approx(3.0)


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan])
def test_a_speed_is_positive(speed):
    with pytest.raises(SourceError):
        ReplaySource(EXAMPLE, speed=speed)


def test_a_file_that_cannot_be_read_is_an_error_before_the_start(tmp_path):
    with pytest.raises(UnmixError):
        ReplaySource(tmp_path / "nothing.csv")


def test_an_osmell_file_can_be_replayed(tmp_path):
    from unmixnet.recordings.formats.osmell import osmell_bytes

    (tmp_path / "a.osmell").write_bytes(osmell_bytes(read_recording(EXAMPLE)))
    items = asyncio.run(gathered(ReplaySource(tmp_path / "a.osmell", speed=math.inf)))
    assert len([item for item in items if isinstance(item, Sample)]) == len(read_recording(EXAMPLE))
    assert isinstance(items[-1], SourceEvent)

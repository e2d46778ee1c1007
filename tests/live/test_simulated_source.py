"""The simulated chamber answers as that of the data set does, faster than time, and does what it is told."""

import asyncio
import math
import time

import numpy as np
import pytest

from unmixnet.examples import example_recording
from unmixnet.live.sample import Sample, SourceError
from unmixnet.live.sources import simulated as nose
from unmixnet.live.sources.simulated import CHUNK, SimulatedNose, SimulatedSource, mixture_of
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.simulated import CLEAN_AIR, FULL_SCALE_COUNTS, Setting, drift, plan_of, shares
from unmixnet.simulation.chamber_stream import ChamberStream


@pytest.fixture(scope="module", autouse=True)
def one_solver():
    """Compile once for the whole module."""
    compiled = ChamberStream(Setting(), CHUNK)
    patch = pytest.MonkeyPatch()
    patch.setattr(nose, "ChamberStream", lambda setting, rows: compiled)
    yield compiled
    patch.undo()


def played(source: SimulatedSource, most: int = 10**9) -> np.ndarray:
    """Readings of the first rows, (row, channel)."""

    async def listen():
        rows = []
        async for item in source.stream():
            if isinstance(item, Sample):
                assert item.time_s == pytest.approx(len(rows) / 10)
                rows.append(item.values)
            if len(rows) == most:
                break
        return rows

    return np.array(asyncio.run(listen()))


def clean_counts(seed: int) -> np.ndarray:
    setting = Setting()
    offset = drift(setting).offset[(-1 - seed) % setting.sessions]
    return FULL_SCALE_COUNTS / (1 + np.exp(-(offset + CLEAN_AIR)))


def test_clean_air_reads_as_clean_air_with_the_noise_of_the_data_set():
    rows = played(SimulatedSource(seed=1, speed=math.inf, script=[(None, 60)]))
    assert rows.shape == (600, 4) and np.all(rows == np.round(rows))
    np.testing.assert_allclose(rows.mean(axis=0), clean_counts(1), atol=0.2)
    np.testing.assert_allclose(rows.std(axis=0), [0.51, 0.52, 0.53, 0.62], atol=0.06)


def test_a_minute_of_a_recipe_is_the_recording_of_the_data_set():
    """The packaged example was made by the data set's solver in one go, with other noise."""
    known = read_recording(example_recording())
    setting = Setting()
    strength = shares(setting)[plan_of(setting).paths.index("test_unseen/peach50_garlic50.s5")].sum()
    device = SimulatedNose(seed=0)
    device.release(mixture_of({"peach": 50, "garlic": 50}), strength)
    rows = np.concatenate([device.read() for _ in range(600 // CHUNK)])
    apart = rows[:-1] - known.readings[1:]  # row 0 of a recording is read before the first step
    assert np.abs(apart).max() < 5 and np.all(np.abs(apart.mean(axis=0)) < 0.2)
    assert np.ptp(known.readings, axis=0).min() > 200


def test_sensors_rise_with_a_release_and_recover_in_clean_air():
    script = [(None, 10), ({"mango": 0.2, "strawberry": 0.8}, 60), (None, 90)]
    rows = played(SimulatedSource(speed=math.inf, script=script)) - clean_counts(0)
    assert np.all(rows[650:700].mean(axis=0) > 100)
    assert np.all(np.abs(rows[1550:].mean(axis=0)) < 3)


def test_one_seed_fixes_everything_and_another_changes_it():
    first, again, other = (played(SimulatedSource(seed=seed, speed=math.inf), 900) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_chamber_does_what_it_is_told():
    source, seen = SimulatedSource(speed=math.inf), []

    async def listen():
        row = 0
        async for item in source.stream():
            if not isinstance(item, Sample):
                continue
            row += 1
            seen.append(source.now)
            if row == 10:
                source.release({"garlic": 3, "clove": 1})
            if row == 100:
                source.air()
            if row == 900:
                return

    asyncio.run(listen())
    assert seen[0] is None and seen[12] is not None and seen[12].names == ("garlic", "clove")
    assert seen[12].ratios == (0.75, 0.25)
    assert seen[110] is None and seen[-1] is None


def test_a_release_lasts_a_minute_and_clean_air_follows():
    source, there = SimulatedSource(speed=math.inf), 0
    source.release({"mango": 1})

    async def listen():
        nonlocal there
        async for item in source.stream():
            if isinstance(item, Sample):
                there += source.now is not None
                if item.time_s >= 80:
                    return

    asyncio.run(listen())
    assert there == 600


def into_a_used_chamber(*, afresh: bool) -> np.ndarray:
    """Half a minute of peach and garlic in a chamber that was full of mango, (300, 4)."""
    source, rows, begun = SimulatedSource(speed=math.inf), [], []
    source.release({"mango": 1})

    async def ask():
        if afresh:
            begun.append(await source.release_after_recovery({"peach": 50, "garlic": 50}))
        else:
            source.release({"peach": 50, "garlic": 50})
            begun.append(len(rows) / 10)

    async def listen():
        asking = None
        async for item in source.stream():
            if isinstance(item, Sample):
                rows.append(item.values)
            if len(rows) == 300 and asking is None:
                asking = asyncio.create_task(ask())
            if begun and len(rows) >= 10 * begun[0] + 300:
                return

    asyncio.run(listen())
    first = round(10 * begun[0])
    return np.array(rows[first : first + 300])


def test_a_release_afresh_does_not_know_what_was_there_before():
    device = SimulatedNose(seed=0)
    device.release(mixture_of({"peach": 50, "garlic": 50}))
    rested = np.concatenate([device.read() for _ in range(300 // CHUNK)])
    assert np.abs(into_a_used_chamber(afresh=True) - rested).max() < 5
    assert np.abs(into_a_used_chamber(afresh=False)[:100] - rested[:100]).max() > 50  # another release does know


@pytest.mark.parametrize("parts", [{}, {"durian": 1}, {"mango": -1}, {"mango": 0}, {"mango": math.nan}])
def test_an_impossible_release_is_refused(parts):
    with pytest.raises(SourceError):
        SimulatedSource().release(parts)


def test_everything_that_it_offers_can_be_released():
    source = SimulatedSource()
    assert len(source.components) == 12
    for name in source.components:
        source.release({name: 1})


def test_an_impossible_script_is_refused():
    with pytest.raises(SourceError):
        SimulatedSource(script=[(None, 0)])


def test_it_is_ten_times_faster_than_time():
    source = SimulatedNose()
    source.release(mixture_of({"pear": 1}))
    begin = time.process_time()
    for _ in range(20 * 10 // CHUNK):
        source.read()
    assert time.process_time() - begin < 2


def test_clean_air_flows_before_the_solver_is_compiled(monkeypatch):
    slow = SimulatedNose.warm

    def waiting(self):
        time.sleep(1.0)
        slow(self)

    monkeypatch.setattr(SimulatedNose, "warm", waiting)

    async def listen():
        begin = time.monotonic()
        async for item in SimulatedSource(speed=math.inf).stream():
            if isinstance(item, Sample):
                return time.monotonic() - begin

    begin = asyncio.run(listen())
    assert begin is not None and begin < 0.9

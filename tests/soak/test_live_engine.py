"""Long counts of the live engine, of teaching and of export."""

import time

import numpy as np
import pytest

from tests.live.signals import air, estimates_of, odour, samples, shipped, stream
from unmixnet.live.engine import Engine

pytestmark = pytest.mark.soak
BUNDLE = shipped()


@pytest.fixture(scope="module")
def engine() -> Engine:
    made = Engine.of(BUNDLE, BUNDLE.preprocessing.channels)
    made.warm()
    return made


def test_an_estimate_a_second_at_a_hundred_times_real_time(engine, measured):
    rows = samples(np.concatenate([stream(), air(60), odour(), air(60), odour()]))
    estimates_of(engine, rows[:200])
    wall, cpu = time.perf_counter(), time.process_time()
    estimates, _ = estimates_of(engine, rows)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    seconds = rows[-1].time_s
    measured("times real time, CPU time of one process", seconds / cpu)
    measured("times real time, wall clock of a shared machine", seconds / wall)
    measured("estimates", len(estimates))
    assert len(estimates) >= seconds and seconds / cpu >= 100


def test_a_day_of_samples_leaves_the_state_as_large_as_a_minute(engine, measured):
    import pickle

    silent = Engine.of(BUNDLE, BUNDLE.preprocessing.channels, every_s=1e9)
    object.__setattr__(silent, "model", engine.model)
    _, state = estimates_of(silent, samples(air(120)))
    early, minute = len(pickle.dumps(state)), air(60)
    for number in range(24 * 60):
        _, state = estimates_of(silent, samples(minute, start_s=120 + 60 * number), state)
    measured("bytes of the state after two minutes and after a day", [early, len(pickle.dumps(state))])
    assert len(pickle.dumps(state)) <= early + 64

"""The live engine is causal, its memory is bounded, and it answers what `unmix` answers to the same window."""

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

from unmixnet.errors import ConfigError, UnmixError
from unmixnet.examples import example_recording
from unmixnet.inference.unmix import unmix
from unmixnet.live.engine import Engine
from unmixnet.live.estimate import STATUS
from unmixnet.live.sample import Sample
from unmixnet.recordings.labels import parse_recipe
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.trace import Trace

from .signals import AIR_S, RATE, air, estimates_of, odour, recording, samples, shipped, stream

BUNDLE = shipped()
TRUTH = parse_recipe(example_recording().stem)


@pytest.fixture(scope="module")
def engine() -> Engine:
    made = Engine.of(BUNDLE, BUNDLE.preprocessing.channels, every_s=5.0)
    made.warm()
    return made


@pytest.fixture(scope="module")
def streamed(engine):
    return estimates_of(engine, samples(stream()))


def as_json(estimates) -> str:
    return json.dumps([estimate.to_json() for estimate in estimates], allow_nan=False)


def test_an_estimate_is_what_unmix_says_of_the_same_window(engine, streamed):
    *_, last = streamed[0]
    onset = streamed[1].exposure.onset
    window = engine.window * round(RATE / engine.rate_Hz)
    first = onset * round(RATE / engine.rate_Hz)
    answer = unmix(BUNDLE, recording(BUNDLE, stream()[first : first + window]))
    assert last.heard == 1 and last.status == STATUS[answer.verdict]
    for name in ("ratios", "low", "high", "presence"):
        np.testing.assert_allclose(getattr(last, name), getattr(answer, name), atol=2e-4, err_msg=name)
    for name in ("strength", "novelty"):
        assert getattr(last, name) == pytest.approx(getattr(answer, name), abs=1e-3)
    assert last.residual == pytest.approx(answer.fit, rel=1e-3)
    np.testing.assert_allclose(last.reconstructed_time_s, answer.time_s + first / RATE, atol=1e-6)
    mean, logit = np.array(BUNDLE.preprocessing.mean), lambda counts: np.log(counts / (1023 - counts))
    made = logit(last.reconstructed) - logit(stream()[first])
    np.testing.assert_allclose(made, answer.reconstructed, atol=2e-3, err_msg=str(mean))


def test_twin_another_window_is_answered_differently(streamed):
    answer = unmix(BUNDLE, recording(BUNDLE, stream()[:595]))
    assert np.max(np.abs(np.array(streamed[0][-1].ratios) - answer.ratios)) > 0.01


def test_the_mixture_is_found_in_the_stream(streamed):
    last = streamed[0][-1]
    truth = TRUTH.vector(last.components)
    error, flat = (np.mean(np.abs(guess - truth)) for guess in (np.array(last.ratios), 1 / len(truth)))
    assert error < 0.8 * flat and int(np.argmax(last.ratios)) in np.flatnonzero(truth)


def test_it_listens_then_answers_with_intervals_that_narrow(streamed):
    estimates = [estimate for estimate in streamed[0] if estimate.time_s > AIR_S]
    assert [estimate.status for estimate in estimates[-6:-1]] == ["mixture"] * 5
    parts = [estimate.heard for estimate in estimates if estimate.status in ("mixture", "unlike")]
    assert parts == sorted(parts) and 1 / 3 <= parts[0] < 0.7 and parts[-1] == 1


def test_an_answer_before_the_window_is_full_has_wider_intervals(engine):
    half = estimates_of(engine, samples(stream()[:500]))[0][-1]
    assert half.status == "mixture" and half.heard < 0.8 and "wider" in half.words[1]
    low, high = BUNDLE.calibration.intervals.of(np.array(half.ratios))
    assert np.all(np.array(half.low) <= low) and np.all(np.array(half.high) >= high)
    assert np.sum(np.array(half.high) - np.array(half.low)) > np.sum(high - low)


def test_the_future_changes_nothing(engine, streamed):
    cut = 500
    other = stream()
    other[cut:] = other[cut:][::-1] // 2 + 100
    changed, _ = estimates_of(engine, samples(other))
    before = [estimate for estimate in changed if estimate.time_s < cut / RATE]
    assert len(before) == 10 and as_json(before) == as_json(streamed[0][: len(before)])
    assert as_json(changed[-1:]) != as_json(streamed[0][-1:])


def test_chunking_does_not_matter_and_a_state_can_be_kept(engine, streamed):
    rows = samples(stream())
    first, state = estimates_of(engine, rows[:313])
    kept = pickle.dumps(state)
    rest, _ = estimates_of(engine, rows[313:], state)
    again, _ = estimates_of(engine, rows[313:], pickle.loads(kept))
    assert as_json(first + rest) == as_json(streamed[0]) and as_json(again) == as_json(rest)


def size(value) -> int:
    """Bytes of all arrays, and the number of everything else, in a state."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return sum(size(getattr(value, item.name)) for item in dataclasses.fields(value))
    return sum(map(size, value)) if isinstance(value, tuple | list) else 1


def test_the_memory_does_not_grow(engine):
    silent = dataclasses.replace(engine, every_s=1e9)
    object.__setattr__(silent, "model", engine.model)
    _, early = estimates_of(silent, samples(air(60)))
    _, late = estimates_of(silent, samples(air(600), start_s=60), early)
    assert size(late) == size(early) < 60_000
    assert late.bins.closed == 1319


def test_samples_at_other_rates_give_nearly_the_same(engine, streamed):
    slow = estimates_of(engine, samples(stream()[::2], rate=RATE / 2))[0][-1]
    fast = estimates_of(engine, samples(np.repeat(stream(), 2, axis=0), rate=2 * RATE))[0][-1]
    sparse = estimates_of(engine, samples(stream()[::10], rate=RATE / 10))[0][-1]
    for other in (slow, fast, sparse):
        np.testing.assert_allclose(other.ratios, streamed[0][-1].ratios, atol=0.1)


def test_a_short_gap_is_bridged_and_a_long_one_begins_anew(engine, streamed):
    rows = samples(stream())
    bridged = estimates_of(engine, rows[:400] + rows[415:])[0][-1]
    np.testing.assert_allclose(bridged.ratios, streamed[0][-1].ratios, atol=0.05)
    _, state = estimates_of(engine, rows)
    (later, *_), _ = estimates_of(engine, samples(air(5), start_s=200), state)
    assert later.status == "warming up" and later.ratios == ()


def test_a_silent_channel_is_named(engine):
    rows = stream()
    rows[200:, 1] = np.nan
    last = estimates_of(engine, samples(rows))[0][-1]
    assert last.status == "warming up" and "MOX2" in last.words[1]


def test_it_warms_up_until_the_slopes_settle(engine):
    heater = 3.0 * np.exp(-np.arange(400)[:, None] / 100)
    level = np.log(air(40) / (1023 - air(40))) + heater
    estimates, _ = estimates_of(engine, samples(np.concatenate([1023 / (1 + np.exp(-level)), air(30)])))
    status = [estimate.status for estimate in estimates]
    assert set(status[:6]) == {"warming up"} and status[-1] == "nothing"
    assert estimates[0].words[0] == "Warming up" and estimates[0].drift == ()
    calm, _ = estimates_of(engine, samples(air(15)))
    assert [estimate.status for estimate in calm][-1] == "nothing"


def test_clean_air_is_nothing_above_background(engine):
    estimates, state = estimates_of(engine, samples(air(40, seed=3)))
    assert {estimate.status for estimate in estimates[3:]} == {"nothing"} and state.exposure.onset is None
    assert all(estimate.strength < estimate.background for estimate in estimates[3:])


def test_drift_of_clean_air_is_reported_and_can_be_accepted(engine):
    slow = np.linspace(0, 0.3, 1500)[:, None] * np.array([1, 0, 0, 0]) * BUNDLE.preprocessing.sd[0]
    level = np.log(air(150) / (1023 - air(150))) + slow
    estimates, state = estimates_of(engine, samples(1023 / (1 + np.exp(-level))))
    assert state.exposure.onset is None and 0.1 < estimates[-1].drift[0] < 0.35
    assert np.max(np.abs(estimates[-1].drift[1:])) < 0.1
    accepted = engine.clean_air(state)
    np.testing.assert_allclose(
        accepted.exposure.level, np.mean(level[-100:], axis=0) / BUNDLE.preprocessing.sd, atol=0.05
    )


def test_after_clean_air_another_odour_is_a_new_exposure(engine):
    settled = np.concatenate([stream(), air(60)])
    _, state = estimates_of(engine, samples(settled))
    assert state.exposure.onset is None and state.held is None
    estimates, state = estimates_of(engine, samples(odour(), start_s=len(settled) / RATE), state)
    assert state.exposure.onset is not None and estimates[-1].status == "mixture"


def test_sensors_that_have_not_recovered_can_smell_again(engine):
    half = np.concatenate([stream(), np.round(0.8 * air(25) + 0.2 * odour()[-1])])
    _, state = estimates_of(engine, samples(half))
    first = state.exposure.onset
    again = np.maximum(odour(), half[-1])
    _, state = estimates_of(engine, samples(again, start_s=len(half) / RATE), state)
    assert first is not None and state.exposure.onset > first + engine.window


def test_old_and_impossible_samples_are_left_out(engine):
    _, state = estimates_of(engine, samples(air(12)))
    for time_s in (3.0, math.nan, -math.inf):
        estimate, after = engine.step(Sample(time_s, (1.0, 2.0, 3.0, 4.0)), state)
        assert estimate is None and after is state


def test_channels_are_found_by_name(engine, streamed):
    order = [2, 0, 3, 1]
    names = ["humidity", *(BUNDLE.preprocessing.channels[i] for i in order)]
    other = Engine.of(BUNDLE, names, every_s=5.0)
    object.__setattr__(other, "model", engine.model)
    rows = np.column_stack([np.full(len(stream()), 50.0), stream()[:, order]])
    assert as_json(estimates_of(other, samples(rows))[0]) == as_json(streamed[0])


def test_what_cannot_listen_is_refused():
    with pytest.raises(UnmixError, match="no channel MOX3"):
        Engine.of(BUNDLE, ("MOX1", "MOX2", "MOX4"))
    with pytest.raises(ConfigError, match="expected a positive time"):
        Engine.of(BUNDLE, BUNDLE.preprocessing.channels, every_s=0)
    filtering = dataclasses.replace(BUNDLE, preprocessing=dataclasses.replace(BUNDLE.preprocessing, low_pass_Hz=0.1))
    with pytest.raises(ConfigError, match="filters"):
        Engine.of(filtering, BUNDLE.preprocessing.channels)


def test_every_number_is_plain_and_the_physics_closes(streamed):
    last = streamed[0][-1]
    json.dumps(last.to_json(), allow_nan=False)
    assert max(vars(last.closure).values()) < 1e-4
    assert len(last.states.concentration_ppm) == len(last.states.cells)
    assert np.all((last.states.coverage >= 0) & (last.states.coverage <= 1))
    assert read_recording(example_recording()).channels == BUNDLE.preprocessing.channels


def test_a_weaker_departure_is_noticed_sooner_and_none_never(engine):
    rows = [engine.model.departure_rows(threshold) for threshold in (0.01, 0.1, 0.5)]
    assert 0 < rows[0] <= rows[1] <= rows[2] < engine.window and rows[0] < rows[2]
    assert engine.model.departure_rows(1e9) == 0


def test_the_states_of_a_step_are_those_of_the_answer(engine):
    air_level = np.tile(np.array(BUNDLE.spec.air, np.float32), (engine.window, 1))
    reply = engine.model.answer(Trace(air_level, np.arange(engine.window) / engine.rate_Hz), path="made up")
    whole = reply.answer.states
    for step in (0, 5, -1):
        now = reply.states(step)
        np.testing.assert_allclose(now.concentration_ppm, whole.concentration_ppm[step].sum(axis=1), rtol=1e-6)
        np.testing.assert_allclose(now.coverage, whole.coverage[step].sum(axis=1), rtol=1e-6)
    assert not np.array_equal(reply.states(0).coverage, reply.states(-1).coverage)

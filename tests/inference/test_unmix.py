"""What an answer says of recordings like those of training, of clean air, of noise, and of nothing at all."""

import dataclasses
import json

import equinox as eqx
import numpy as np
import pytest

from tests.inference.bundle import tiny
from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference.report import Verdict, to_json, write_report
from unmixnet.inference.unmix import unmix
from unmixnet.recordings.reader import ReadError, read_recording


def recording(tmp_path, readings: np.ndarray, channels=tiny.CHANNELS):
    path = tmp_path / "new.csv"
    path.write_text(tiny.csv_text(readings, channels))
    return read_recording(path)


@pytest.fixture(scope="module")
def answer(bundle):
    return unmix(bundle, read_recording(tiny.folder() / "s0_3.csv"))


def test_shares_are_a_mixture_with_intervals_around_them(answer, bundle):
    assert answer.components == tiny.COMPONENTS and abs(answer.ratios.sum() - 1) < 1e-12
    assert np.all((0 <= answer.low) & (answer.low <= answer.ratios) & (answer.ratios <= answer.high))
    assert np.all((answer.high <= 1) & (0 < answer.presence) & (answer.presence < 1))
    assert answer.verdict is Verdict.MIXTURE and answer.model_digest == bundle.digest
    assert "12 recordings" in answer.confidence_note and 0 < answer.novelty <= 1


def test_every_number_of_the_answer_exists(answer):
    def null(value):
        nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return value is None or any(null(one) for one in nested)

    assert not null(to_json(answer, states=True))


def test_the_measured_trace_is_that_of_the_recording(answer):
    source = read_recording(tiny.folder() / "s0_3.csv")
    level = np.log(source.readings / (1023 - source.readings))
    level = (level - level[0]).reshape(-1, tiny.RATE, 3).mean(axis=1)
    times = source.time_s.reshape(-1, tiny.RATE).mean(axis=1)
    rows = np.searchsorted(times, answer.time_s - 1e-6)
    np.testing.assert_allclose(answer.time_s, times[rows])
    np.testing.assert_allclose(answer.measured, level[rows], atol=1e-5)
    assert len(answer.time_s) == 19 and answer.unit == "ln conductance"


def test_states_have_names_times_and_seats(answer, bundle):
    states = answer.states
    assert set(states.seats) <= set(states.cells) and len(states.seats) == 3
    assert all(edge.split(" → ")[0] in states.cells for edge in states.edges)
    assert set(np.round(states.time_s, 6)) <= set(np.round(answer.time_s, 6))
    assert states.concentration_ppm.min() >= 0 and 0 <= states.coverage.min() and states.coverage.max() <= 1


def test_the_physics_closes_in_single_precision(answer):
    assert max(vars(answer.closure).values()) < 1e-4


def test_the_same_recording_gets_the_same_answer(answer, bundle):
    again = unmix(bundle, read_recording(tiny.folder() / "s0_3.csv"))
    assert json.dumps(to_json(again, states=True)) == json.dumps(to_json(answer, states=True))


def test_the_answer_is_a_report(answer, tmp_path):
    page = write_report(answer, tmp_path / "report")
    assert page.stat().st_size > 10_000 and (tmp_path / "report" / "states.csv").exists()


def test_clean_air_is_nothing_above_background(bundle, tmp_path):
    for seed in range(5):
        air = tiny.counts(np.zeros(3), 5000 + seed)
        found = unmix(bundle, recording(tmp_path, air))
        assert found.verdict is Verdict.NOTHING and found.strength < found.background


def test_twin_an_odour_is_something(bundle, tmp_path):
    found = unmix(bundle, recording(tmp_path, tiny.counts(np.eye(3)[0], 6000)))
    assert found.verdict is Verdict.MIXTURE and found.strength > found.background


def test_a_trace_that_no_odour_makes_is_unlike_training(bundle, tmp_path):
    rows = tiny.counts(np.zeros(3), 7000)
    wave = 400 * np.sign(np.sin(np.arange(len(rows)) * 2 * np.pi / 15))[:, None] * [1, -1, 1]
    found = unmix(bundle, recording(tmp_path, np.clip(rows + 300 + wave, 1, 1022).round()))
    assert found.verdict is Verdict.UNLIKE and found.novelty <= 1 / 13 + 1e-9


def test_sensors_at_their_lower_rail_are_not_clean_air(bundle, tmp_path):
    rows = tiny.counts(np.eye(3)[1], 7001)
    rows[10:] = 1
    assert unmix(bundle, recording(tmp_path, rows)).verdict is Verdict.UNLIKE


def test_a_long_recording_is_answered_window_by_window(bundle, tmp_path):
    found = unmix(bundle, recording(tmp_path, tiny.counts(np.eye(3)[2], 8000, seconds=61)))
    assert len(found.window_time_s) == 11 and np.allclose(np.diff(found.window_time_s), 5)
    assert len(found.time_s) == 60 and np.allclose(np.diff(found.time_s), 1)


def test_findings_of_the_reader_reach_the_answer(bundle, tmp_path):
    rows = tiny.counts(np.eye(3)[0], 9000)
    rows[:, 1] = 512
    found = unmix(bundle, recording(tmp_path, rows))
    assert any("VOC" in finding for finding in found.findings)


def test_an_unknown_array_a_short_recording_and_an_empty_file_are_errors(bundle, tmp_path):
    rows = tiny.counts(np.eye(3)[0], 1)
    with pytest.raises(UnmixError, match="no channel VOC; the file has NO2, H2S, CO"):
        unmix(bundle, recording(tmp_path, rows, ("NO2", "H2S", "CO")))
    with pytest.raises(UnmixError, match="has 5 s, the model needs at least 10 s"):
        unmix(bundle, recording(tmp_path, rows[: 5 * tiny.RATE]))
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(ReadError):
        unmix(bundle, read_recording(tmp_path / "empty.csv"))


def test_a_baseline_has_no_solver_to_answer_with():
    with pytest.raises(ConfigError, match="perceptron holds mlp without a solver"):
        unmix(tiny.baseline(), read_recording(tiny.folder() / "s0_0.csv"))


def test_an_impossible_coefficient_is_a_finding_and_not_a_nan(bundle):
    """A solve that fails keeps its last good state and says so."""
    broken = eqx.tree_at(lambda m: m.transduction.log_tau, bundle.model, bundle.model.transduction.log_tau + 200)
    found = unmix(dataclasses.replace(bundle, model=broken), read_recording(tiny.folder() / "s0_0.csv"))
    assert any("solver stopped" in finding for finding in found.findings)
    assert np.all(np.isfinite(found.reconstructed)) and np.isfinite(found.fit)

"""Episodes, causal windows, choices on calibration alone, transfer of frozen states, and the scores."""

import numpy as np
import pytest

from studies.uci.dynamic_table import estimates_of
from studies.uci.episodes import WINDOW_S, SeriesPart, cross_file, series_of, splits_of, windows_of
from studies.uci.estimates import GasEstimate, choose_threshold, score_rows
from studies.uci.plateau_inverse import episode_ends, run_quasi_steady
from studies.uci.steady_response import response
from studies.uci.supervised import choose_delay, run_supervised
from studies.uci.transfer import by_type, normalised, run_transfer
from tests.studies.uci import rigs
from unmixnet.errors import UnmixError
from unmixnet.recordings.recording import ChannelHealth, Recording

DELAY_S = 10


def recording(hours: float = 2.0, seed: int = 0) -> Recording:
    """Sensors that answer at once to gas that comes ten seconds late; a few readings are bad."""
    rng = np.random.default_rng(seed)
    n = int(3600 * hours)
    ppm = np.zeros((n, 2))
    for start in range(0, n, 100):
        ppm[start : start + 100] = rng.integers(0, 2, 2) * [rng.uniform(70, 290), rng.uniform(7, 20)]
    late = np.concatenate([np.zeros((DELAY_S, 2)), ppm[:-DELAY_S]])
    y = response(rigs.parameters(), late / [100, 10])[0] + 0.01 * rng.normal(size=(n, 16))
    readings = np.where(rng.random((n, 16)) < 0.01, -5.0, np.exp(y))
    sensors = tuple(f"s{m + 1:02d}" for m in range(16))
    return Recording(
        time_s=np.arange(1.0, n + 1),
        readings=readings,
        channels=sensors,
        units=("25 nS",) * 16,
        sample_rate_Hz=1.0,
        device="made up",
        path=f"made up {seed}",
        label=None,
        health=(ChannelHealth.OK,) * 16,
        gases=("methane", "ethylene"),
        exposure_ppm=ppm,
    )


@pytest.fixture(scope="module")
def made():
    return recording()


@pytest.fixture(scope="module")
def series(made):
    return series_of(made, "made up")


@pytest.fixture(scope="module")
def splits(series, made):
    return {split.name: split for split in splits_of(series, made)}


def true_states(split):
    """A provider that knows the gas up to an affine map and a mixing with noise: what a perfect frozen model gives."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(16, 3))

    def provide(windows):
        last = windows[:, -1]
        guess = np.linalg.lstsq(_slopes(split), (last - last.mean(axis=0)).T, rcond=None)[0].T
        return np.column_stack([0.1 * last @ mix, 3 + 2 * guess])

    return provide


def _slopes(split):
    part = split.fit
    late = part.series.delayed(part.ends, DELAY_S)
    X = late - late.mean(axis=0)
    return np.linalg.lstsq(X, part.series.log_G[part.ends] - part.series.log_G[part.ends].mean(axis=0), rcond=None)[0].T


def test_a_bad_reading_is_replaced_by_the_last_good_one(made, series):
    row, sensor = np.argwhere(np.asarray(made.readings)[100:] <= 0)[0] + [100, 0]
    before = np.asarray(made.readings)[:row, sensor]
    assert series.log_G[row, sensor] == pytest.approx(np.log(before[before > 0][-1]))
    assert np.all(np.isfinite(series.log_G))


def test_windows_are_causal(series):
    part = SeriesPart(series, np.array([WINDOW_S, 500]))
    changed = series.log_G.copy()
    changed[501:] += 7.0
    later = SeriesPart(type(series)(**{**vars(series), "log_G": changed}), part.ends)
    np.testing.assert_array_equal(windows_of(part), windows_of(later))
    np.testing.assert_array_equal(windows_of(part)[1, -1], series.log_G[500])


@pytest.mark.parametrize("name", ["episodes", "forward"])
def test_no_episode_is_on_two_sides(splits, name):
    split = splits[name]
    fit, held, test = (set(part.groups.tolist()) for part in (split.fit, split.calibration, split.test))
    assert not fit & held
    assert not held & test
    shared = fit & test
    assert len(shared) <= (1 if name == "forward" else 0), "the cut may fall inside one episode"


def test_the_forward_test_lies_after_everything_else(splits):
    split = splits["forward"]
    assert max(split.fit.ends.max(), split.calibration.ends.max()) < split.test.ends.min()


def test_the_delay_is_found_on_calibration_episodes(splits):
    assert abs(choose_delay(splits["forward"], (0, 1)) - DELAY_S) <= 5


def test_a_supervised_peer_beats_the_mean(splits):
    split = splits["forward"]
    scores = {}
    for name in ("mean", "ridge"):
        rows = score_rows(split, run_supervised(split, name, (0, 1), delay_s=DELAY_S), (0, 1), "made up")
        scores[name] = {row.metric: row for row in rows}
    assert scores["ridge"]["R²"].mean > 0.8
    assert scores["mean"]["R²"].mean < 0.05
    assert scores["ridge"]["Norm. MAE"].mean < 0.5 * scores["mean"]["Norm. MAE"].mean
    assert scores["mean"]["Pearson"].mean == pytest.approx(0, abs=1e-9)
    for row in scores["ridge"].values():
        assert row.lo <= row.mean <= row.hi, row.metric


def test_scores_of_the_truth_are_perfect(splits):
    split = splits["forward"]
    truth = split.test.series.delayed(split.test.ends, DELAY_S)
    ahead = split.test.series.log_G[split.test.ends + 10]
    estimate = GasEstimate("truth", truth, DELAY_S, np.array([10.0, 1.0]), ahead)
    rows = {row.metric: row.mean for row in score_rows(split, estimate, (0, 1), "made up", truth)}
    for name in ("Gas ID Acc", "support F1", "R²", "Pearson", "Spearman", "slope", "CCC", "R² with the chamber"):
        assert rows[name] == pytest.approx(1.0), name
    for name in ("Norm. MAE", "transition residual", "forecast RMSE"):
        assert rows[name] == pytest.approx(0.0, abs=1e-12), name


def test_twin_a_late_truth_is_not_perfect(splits):
    split = splits["forward"]
    late = split.test.series.delayed(split.test.ends, DELAY_S + 20)
    estimate = GasEstimate("late", late, DELAY_S, np.array([10.0, 1.0]), None)
    rows = {row.metric: row.mean for row in score_rows(split, estimate, (0, 1), "made up")}
    assert rows["R²"] < 0.9
    assert rows["transition residual"] > 0.1
    assert "forecast RMSE" not in rows


def test_a_frozen_model_is_transferred_by_delay_tokens_and_an_affine_map(splits):
    split = splits["forward"]
    estimate = run_transfer(split, "frozen", true_states(split), (0, 1))
    rows = {row.metric: row.mean for row in score_rows(split, estimate, (0, 1), "made up")}
    assert abs(estimate.delay_s - DELAY_S) <= 5
    assert rows["R²"] > 0.6


def test_a_transfer_never_sees_test_set_points(splits):
    split = splits["forward"]
    blind = type(split.test.series)(**{**vars(split.test.series), "ppm": np.zeros_like(split.test.series.ppm)})
    hidden = type(split)(split.name, split.fit, split.calibration, SeriesPart(blind, split.test.ends))
    provider = true_states(split)
    np.testing.assert_array_equal(
        run_transfer(split, "a", provider, (0, 1)).ppm, run_transfer(hidden, "a", provider, (0, 1)).ppm
    )


def test_twin_a_model_whose_state_is_noise_explains_nothing(splits):
    split = splits["forward"]
    noise = np.random.default_rng(1)
    estimate = run_transfer(split, "noise", lambda windows: noise.normal(size=(len(windows), 4)), (0, 1))
    rows = {row.metric: row.mean for row in score_rows(split, estimate, (0, 1), "made up")}
    assert rows["R²"] < 0.1


def test_clean_air_is_put_onto_the_clean_air_of_the_model(splits):
    calibration = splits["forward"].calibration
    ready = normalised(calibration, ("NO2", "C2H5OH", "VOC", "CO"), np.array([-2.0, -1.0, 0.0, 1.0]), np.full(4, 0.5))
    signal = ready(windows_of(calibration))
    np.testing.assert_allclose(np.quantile(signal.reshape(-1, 4), 0.05, axis=0), [-2, -1, 0, 1], atol=1e-9)
    assert by_type(windows_of(calibration)).shape[-1] == 4


def test_the_quasi_steady_law_follows_the_gas(splits):
    split = splits["forward"]
    few = type(split)(
        split.name,
        split.fit,
        SeriesPart(split.calibration.series, split.calibration.ends[::4]),
        SeriesPart(split.test.series, split.test.ends[::6]),
    )
    estimate = run_quasi_steady(few)
    rows = {row.metric: row.mean for row in score_rows(few, estimate, (0, 1), "made up")}
    assert abs(estimate.delay_s - DELAY_S) <= 5
    assert rows["R²"] > 0.95
    assert rows["Gas ID Acc"] > 0.95


def test_the_ends_of_episodes_are_plateaus(series):
    table = episode_ends(series, 1000)
    assert len(table) == len(np.unique(series.episode[:1000]))
    np.testing.assert_allclose(table.exposure_ppm[1], series.ppm[150], err_msg="second episode")


def test_between_files_only_the_shared_gas_is_asked_for(series):
    other = series_of(recording(seed=1), "other")
    split = cross_file(series, other)
    (estimate, *_) = estimates_of(split, (1,), {}, lambda what: None)
    assert estimate.ppm.shape == (len(split.test.ends), 1)
    rows = {row.metric: row for row in score_rows(split, estimate, (1,), "made up")}
    assert rows["Gas ID Acc"].n > 10


def test_a_threshold_separates_present_from_absent():
    truth = np.array([[0.0], [0.0], [50.0], [80.0]])
    level = choose_threshold(np.array([[1.0], [9.0], [30.0], [70.0]]), truth, np.array([80.0]))
    assert 9 <= level[0] < 30


def test_a_recording_too_short_is_refused(made):
    with pytest.raises(UnmixError, match="three minutes"):
        series_of(made.between(0, 1) if hasattr(made, "between") else recording(0.02), "short")

"""Simulated recordings: always there, reproducible, noisy as real ones, with held-out supports and a known truth."""

from dataclasses import replace

import numpy as np
import pytest

from studies.simulator.bounds import recording_bounds
from studies.states.state_scores import true_states
from unmixnet.errors import ConfigError, UnmixError
from unmixnet.inference import fingerprints as pure
from unmixnet.physics.species import SPECIES
from unmixnet.recordings.coherence import coherence
from unmixnet.recordings.datasets import Entry, load_dataset
from unmixnet.recordings.preprocessing import log_conductance
from unmixnet.recordings.protocols import hold_out, protocol
from unmixnet.recordings.protocols import measured as measured_recordings
from unmixnet.recordings.simulated import (
    NOISE_COUNTS,
    VOLATILES,
    Setting,
    plan_of,
    setting_of,
    shares,
    simulated_dataset,
    true_process,
)

SMALL = Setting(4, sessions=2)


@pytest.fixture(scope="module")
def dataset():
    return load_dataset("simulated")


@pytest.fixture(scope="module")
def small():
    """Two sessions only: one to train, one to test."""
    return simulated_dataset(sessions=2)


@pytest.fixture(scope="module")
def counts(small):
    return np.array([recording.readings for _, recording in small.recordings()])


@pytest.fixture(scope="module")
def truth(small):
    """A pure recording, a seen pair and an unseen triple."""
    return true_states(small, [0, 20, 90])


# ---------------------------------------------------------------- the plan


def test_every_food_stands_for_a_species_of_the_table(dataset):
    assert set(dataset.components) == set(VOLATILES)
    assert set(VOLATILES.values()) <= set(SPECIES)


def test_unseen_supports_do_not_occur_in_training(dataset):
    seen = {entry.label.support for entry in dataset.of("training")}
    assert all(entry.label.support not in seen for entry in dataset.of("test_unseen"))
    assert all(entry.label.support in seen for entry in dataset.of("test_seen"))


def test_the_last_session_is_for_testing_only(dataset):
    trained = {entry.session for entry in dataset.of("training")}
    assert not trained & {entry.session for entry in dataset.of("test_seen")}


@pytest.mark.parametrize("name", ["simulated", "simulated-8"])
def test_the_protocols_hold_180_recordings_for_training_and_test_seen_and_unseen_apart(name):
    made = [protocol(f"{name}:{split}") for split in ("seen", "unseen")]
    assert [(len(p.folds[0].train), len(p.folds[0].test), p.resample) for p in made] == [
        (180, 36, "recording"), (180, 24, "support"),
    ]  # fmt: skip
    assert made[0].folds[0].train == made[1].folds[0].train
    inner = hold_out(made[0].folds[0].train)
    assert not {piece.session for piece in inner.train} & {piece.session for piece in inner.test}


def test_eight_sensors_smell_the_same_recipes(dataset):
    other = load_dataset("simulated-8")
    assert (other.name, setting_of(other).sensors, setting_of(dataset).sensors) == ("simulated-8", 8, 4)
    assert other.entries == dataset.entries


def test_every_simulated_recording_counts_as_measured(dataset):
    found = measured_recordings(dataset)
    assert {split: len(pieces) for split, pieces in found.items()} == {
        split: len(dataset.of(split)) for split in dataset.splits
    }
    assert all(piece.session for pieces in found.values() for piece in pieces)


def test_too_few_sensors_or_sessions_are_refused_with_a_remedy():
    for wrong in ({"sensors": 0}, {"sessions": 1}):
        with pytest.raises(ConfigError, match="expected at least"):
            simulated_dataset(**wrong)


# ---------------------------------------------------------------- the readings


def test_recordings_start_in_clean_air_and_respond_within_the_range_of_the_converter(counts):
    assert counts.shape == (96, 600, 4)
    assert np.array_equal(counts, np.round(counts)) and counts.min() > 20 and counts.max() < 1003
    logit = log_conductance(counts)
    response = (logit - logit[:, :5].mean(axis=1, keepdims=True)).max(axis=1)
    assert np.abs(logit[:, 5:10] - logit[:, :5]).max() < 0.05, "half a second later nothing has arrived yet"
    low, middle, high = np.quantile(response, [0.05, 0.5, 0.95])
    assert 0.5 < low < 1 < middle < 2 < high < 3


def test_no_two_foods_are_the_same_to_this_array_in_level_or_in_time(counts):
    logit = log_conductance(counts[36:48].reshape(12, 60, 10, 4).mean(axis=2))
    curves = logit - logit[:, :1]
    directions = curves[:, -10:].mean(axis=1)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert np.max((directions @ directions.T)[~np.eye(12, dtype=bool)]) < 0.9999
    half = np.array([[np.argmax(c > 0.5 * c.max()) for c in curve.T] for curve in curves])
    assert np.all(np.ptp(half, axis=0) >= 5), "some foods take seconds longer than others"


def noise_of(counts: np.ndarray) -> np.ndarray:
    """sd of the white noise, rounding included, from first differences in clean air."""
    return np.diff(counts[:, :10], axis=1).std(axis=(0, 1)) / np.sqrt(2)


def test_pure_foods_have_fingerprints_that_theory_can_judge(small, monkeypatch):
    monkeypatch.setattr(pure, "load_dataset", lambda name, root: small)
    foods = pure.pure_fingerprints("simulated", None, response="log-conductance", baseline="recording")
    assert set(foods.components) == set(small.components) and set(foods.counts) == {1}
    assert 0 < coherence(foods).mu_raw < 1


def test_the_noise_is_that_of_smellnet(counts):
    assert noise_of(counts) == pytest.approx([0.51, 0.52, 0.53, 0.62], rel=0.06)


def test_twin_a_count_of_noise_is_too_much(counts):
    louder = np.round(counts + np.random.default_rng(0).normal(0, 0.9, counts.shape))
    assert noise_of(louder) != pytest.approx([0.51, 0.52, 0.53, 0.62], rel=0.06)


def test_a_sensor_reads_the_same_however_many_there_are_beside_it(counts):
    eight = simulated_dataset(sensors=8, sessions=2)
    more = np.array([recording.readings for _, recording in eight.recordings()])
    assert more.shape == (96, 600, 8)
    # the others take a few molecules from the air that all of them breathe
    gap = np.abs(more[..., :4] - counts)
    assert gap.max() <= 2 and gap.mean() < 0.3
    assert np.ptp(more[..., 4:], axis=1).max(axis=0).min() > 100, "the others respond too"


def test_the_data_set_is_the_same_each_time(small, counts):
    from unmixnet.recordings import simulated

    simulated._counts.cache_clear()
    assert np.array_equal(counts[80], small.read(small.entries[80]).readings)
    assert not np.array_equal(counts[80], counts[81])


# ---------------------------------------------------------------- the truth


def test_true_states_are_those_of_the_coarse_chamber_once_a_second(truth):
    assert truth.concentration.shape == (3, 60, 8, 12)
    assert truth.flux.shape == truth.advective_flux.shape == (3, 60, 14, 12)
    assert truth.coverage.shape == (3, 60, 4, 12)
    assert np.array_equal(truth.time_s, np.arange(1, 61))
    assert truth.strength == pytest.approx(shares(SMALL)[[0, 20, 90]].sum(axis=1))
    assert truth.paths == tuple(plan_of(SMALL).paths[i] for i in (0, 20, 90))


def test_only_released_species_are_in_the_air_and_no_more_than_was_released(truth):
    released = shares(SMALL)[[0, 20, 90]] * np.asarray(true_process(SMALL).source.amount)
    moles = np.einsum("v,rtvk->rtk", SMALL.chamber.volume_m3, truth.concentration)
    assert np.all((moles.max(axis=1) > 0) == (released > 0))
    assert np.all(moles <= released[:, None] * (1 + 1e-5))
    assert np.all(truth.coverage >= 0) and np.all(truth.coverage.sum(axis=-1) < 1)
    assert truth.coverage.max() > 0.1, "something happened"


def balance_error(states) -> float:
    """Departure of a cell's gain from what its edges bring, over its largest gain (throat and boards)."""
    chamber = SMALL.chamber
    area = np.array([edge.area_m2 for edge in chamber.edges])
    brought = np.einsum("ve,rtek->rtvk", chamber.incidence * area, states.total_flux)
    moles = states.concentration * chamber.volume_m3[:, None]
    # between samples by Simpson's rule, over two seconds
    mean = (brought[:, :-2] + 4 * brought[:, 1:-1] + brought[:, 2:]) / 3
    gain = moles[:, 2:] - moles[:, :-2]
    return float(np.max(np.abs(gain - mean)[:, 2:, 1:6]) / np.max(np.abs(gain[..., 1:6, :])))


def test_fluxes_account_for_what_each_cell_gains(truth):
    assert balance_error(truth) < 0.05


def test_twin_a_flux_of_the_wrong_sign_does_not_add_up(truth):
    assert balance_error(replace(truth, flux=-truth.flux)) > 0.2


def coarse_states(setting: Setting, released: np.ndarray):
    """The true coefficients on eight cells in steps of a second: what a model could reach without learning."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from unmixnet.physics.rollout import Policy, rollout
    from unmixnet.physics.state import clean_air

    @jax.jit
    @jax.vmap
    def run(share):
        geometry, process = setting.chamber.geometry(), true_process(setting)
        this = eqx.tree_at(lambda p: p.source.amount, process, process.source.amount * share)
        save, policy = ("N", "theta"), Policy(order=1)
        return rollout(this, geometry, clean_air(this, geometry), jnp.asarray(1.0), 60, save=save, policy=policy).saved

    with jax.enable_x64(False):
        saved = run(jnp.asarray(released, float))
    N, theta = (np.asarray(a)[..., 1:, :] for a in (saved.N, saved.theta))
    return (N / setting.chamber.volume_m3).swapaxes(-1, -2), theta.swapaxes(-1, -2)


def test_a_model_on_the_coarse_chamber_comes_close_but_did_not_make_the_data(truth):
    concentration, coverage = coarse_states(SMALL, shares(SMALL)[[0, 20, 90]])
    for guess, true in ((concentration, truth.concentration), (coverage, truth.coverage)):
        r2 = 1 - np.sum((guess - true) ** 2) / np.sum((true - true.mean()) ** 2)
        assert 0.85 < r2 < 0.999


def test_the_truth_of_measured_data_is_not_known(tmp_path):
    (tmp_path / "a.csv").write_text("timestamp_ms,NO2\n0,1\n100,2\n")
    with pytest.raises(ConfigError, match="truth behind folder is not known"):
        true_states(load_dataset("folder", tmp_path), [0])


@pytest.mark.parametrize("indices", [[], [96], [-1]])
def test_recordings_that_do_not_exist_are_refused(indices):
    with pytest.raises(UnmixError, match="96 recordings"):
        true_states(SMALL, indices)


# ---------------------------------------------------------------- the bounds


def test_bounds_are_finite_everything_acts_and_a_known_support_helps():
    (bounds,) = recording_bounds(SMALL, [20], fine=False)
    assert bounds.path == plan_of(SMALL).paths[20]
    assert bounds.all_components.silent == ()
    assert 0 < bounds.known_support.expected_mae < bounds.all_components.expected_mae < 0.1
    assert np.array_equal(np.flatnonzero(bounds.known_support.sd), np.flatnonzero(shares(SMALL)[20]))
    assert np.all(bounds.known_support.sd <= bounds.all_components.sd)


# ---------------------------------------------------------------- against measured noise


@pytest.mark.soak
def test_the_noise_of_smellnet_is_what_was_measured(smellnet, measured):
    data = load_dataset("smellnet-mixture", smellnet.parent)
    pieces = measured_recordings(data)["training_new"]
    rows = [data.read(Entry(piece.path, "training_new", piece.label)).readings[:600] for piece in pieces]
    sd = np.median([np.diff(row, axis=0).std(axis=0) / np.sqrt(2) for row in rows], axis=0)
    before_rounding = np.sqrt(sd**2 - 1 / 12)
    measured("white noise of SmellNet's four channels before rounding [counts]", before_rounding.round(3).tolist())
    assert before_rounding == pytest.approx(NOISE_COUNTS, abs=0.01)

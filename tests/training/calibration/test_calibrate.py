"""Calibration finds known coefficients, stays in Ω, goes on where it stopped, and leaves a frozen simulator alone."""

from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

from studies.simulator.calibrate import calibrate_known
from unmixnet.files import ArtefactError
from unmixnet.model.predict import single_precision
from unmixnet.training.calibration import FrozenSimulator
from unmixnet.training.calibration.calibrate import calibrate, frozen, problem_of
from unmixnet.training.calibration.fisher import information
from unmixnet.training.calibration.forward import Nuisances, Physics, predicted_traces
from unmixnet.training.calibration.least_squares import misfit, normal_equations
from unmixnet.training.calibration.losses import MIXTURE, schedule
from unmixnet.training.calibration.setup import Recordings

from .small import FOODS, hurried, truth

ITERATIONS = 10


@pytest.fixture(scope="module", autouse=True)
def _single():
    """Compile in a hurry, once, in the precision that the command works in."""
    with pytest.MonkeyPatch.context() as patch, single_precision():
        # the slopes are used often enough to be compiled well
        hurried(patch, "_traces")
        yield


@pytest.fixture(scope="module")
def again():
    """A calibration of known recordings."""
    return calibrate_known(truth(), iterations=ITERATIONS)


def stages(iterations: int = 2):
    return schedule(iterations, release="rise-decay")


def test_omega_holds_after_every_stage(again):
    assert [entry["stage"] for entry in again.fit.history] == ["pure", "mixture", "joint"]
    assert all(entry["in omega"] for entry in again.fit.history)


def test_coefficients_that_are_identifiable_are_found_within_five_per_cent(again):
    assert again.identifiable.sum() >= 20
    assert again.worst < 0.05


def test_twin_a_wrong_truth_is_not_found(again):
    wrong = again.error + 0.2
    assert np.abs(wrong[again.identifiable]).max() > 0.05


def test_errors_are_as_large_as_their_standard_errors_say(again):
    se = np.array([one.se for one in again.information.estimates])
    assert np.mean(np.abs(again.error) < 3 * se) > 0.97


def test_what_no_recording_tells_keeps_its_prior_and_is_named(again):
    told = {one.name: one for one in again.information.estimates}
    for name in ("D[mango, pear]", "wall[clove]"):
        assert told[name].verdict == "not determined"
        assert told[name].se > 0.95 * told[name].before
    assert any("wall" in text for text in again.information.undetermined)


def test_amount_and_adsorption_are_known_only_together(again):
    told = {one.name: one for one in again.information.estimates}
    assert told["alpha[mango]"].verdict == "not determined"
    together, alone = told["s̄ α k_ads [left, mango]"], told["k_ads[left, mango]"]
    assert together.se / together.before < alone.se / alone.before


def test_nuisances_are_marginalised_and_not_held(again):
    problem, _ = problem_of(again.known.setup, stages()[-1], again.fit.noise)
    normal = normal_equations(problem, again.fit.theta, again.fit.nuisances)
    P = len(normal.places)
    marginal, held = np.linalg.inv(normal.H)[:P, :P], np.linalg.inv(normal.H[:P, :P])
    assert np.all(np.diag(marginal) >= np.diag(held) * (1 - 1e-9))
    assert np.any(np.diag(marginal) > 1.5 * np.diag(held))


def test_the_gradient_is_that_of_the_loss():
    setup = truth().setup
    problem, _ = problem_of(setup, stages()[-1], truth_noise())
    theta, nothing = truth().theta, Nuisances.none(len(setup.train), 2, 2)
    normal = normal_equations(problem, theta, nothing)
    where = list(normal.places).index(next(i for i in normal.places))
    eps = 1e-2
    row, unravel = jax.flatten_util.ravel_pytree(theta)
    up, down = (unravel(row.at[normal.places[where]].add(sign * eps)) for sign in (1, -1))
    slope = (misfit(problem, up, nothing) - misfit(problem, down, nothing)) / (2 * eps)
    assert slope == pytest.approx(2 * normal.gradient[where], rel=0.05)


def truth_noise():
    """Σ_Y for the gradient test: wide, so that single precision is enough."""
    from unmixnet.training.calibration.losses import Noise

    return Noise.of(2, 0.1, 0.1)


def test_the_mixture_stage_moves_only_what_substances_do_together():
    setup, mixture = truth().setup, stages()[1]
    found = calibrate(setup, (mixture,))
    start = calibrate(setup, ())
    for name, value in vars(found.theta).items():
        same = np.array_equal(value, getattr(start.theta, name))
        assert same == (name not in MIXTURE), name


def test_an_interrupted_calibration_ends_where_an_uninterrupted_one_does(tmp_path):
    setup = truth().setup

    def stop(stage, iteration, most, loss):
        if stage == "joint":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrate(setup, stages(), folder=tmp_path, watch=stop)
    seen_ = []
    resumed = calibrate(setup, stages(), folder=tmp_path, watch=lambda stage, *rest: seen_.append(stage))
    whole = calibrate(setup, stages())
    assert set(seen_) == {"joint"}
    assert eqx.tree_equal(resumed.theta, whole.theta)
    np.testing.assert_array_equal(resumed.nuisances.log_strength, whole.nuisances.log_strength)
    assert resumed.history == whole.history


def test_stages_of_other_recordings_are_refused(tmp_path):
    setup = truth().setup
    calibrate(setup, stages(1)[:1], folder=tmp_path)
    other = replace(setup, train=replace(setup.train, Y=setup.train.Y + 1e-3))
    with pytest.raises(ArtefactError, match="other recordings"):
        calibrate(other, stages(1)[:1], folder=tmp_path)


def test_a_frozen_simulator_is_not_refitted(tmp_path, again):
    frozen(again.known.setup, again.fit).save(tmp_path)
    with pytest.raises(ArtefactError, match="not refitted"):
        calibrate(again.known.setup, stages(1)[:1], folder=tmp_path)


def test_a_frozen_simulator_plays_what_was_calibrated(tmp_path, again):
    setup, train = again.known.setup, again.known.setup.train
    frozen(setup, again.fit).save(tmp_path)
    simulator = FrozenSimulator.load(tmp_path)
    found = again.fit.nuisances
    gain, offset = found.of(train.session)
    run = simulator.simulate(
        train.ratios,
        seconds=setup.jar.seconds,
        strength=np.exp(found.log_strength),
        exposure=np.exp(found.log_exposure),
        session_gain=gain,
        session_offset=offset,
    )
    np.testing.assert_allclose(
        run.signal, predicted_traces(Physics.of(setup.jar), again.fit.theta, train, found), rtol=1e-3, atol=1e-3
    )
    assert simulator.components == FOODS
    assert set(simulator.origin["sessions"]) == {"s0", "s1"}


def test_substances_that_are_absent_change_no_trace(again):
    train = again.known.setup.train[np.array([0, 4])]
    wide = Recordings(train.Y, train.ratios, train.session, train.sessions, train.names, most=3)
    none = Nuisances.none(2, 2, 2)
    law = Physics.of(again.known.setup.jar)
    np.testing.assert_allclose(
        predicted_traces(law, again.fit.theta, wide, none),
        predicted_traces(law, again.fit.theta, train, none),
        atol=1e-5,
    )


@pytest.mark.soak
def test_soak_twelve_substances_are_found_again(measured):
    from studies.simulator.calibrate import known_process

    foods = tuple("abcdefghijkl")
    made = calibrate_known(known_process(foods, ("m1", "m2", "m3", "m4"), noise=1e-3), iterations=15)
    measured("calibrate: identifiable coefficients and combinations", int(made.identifiable.sum()))
    measured("calibrate: largest error of an identifiable one", made.worst)
    assert made.worst < 0.05


def test_information_needs_no_recording_of_the_test(again):
    told = information(again.known.setup, stages()[-1], again.fit)
    assert [one.se for one in told.estimates] == [one.se for one in again.information.estimates]

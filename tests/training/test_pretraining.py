"""Before the first epoch: calibration explains the recordings and leaves the encoder; schooling does the reverse."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.model.tiny import QUICK, M, T, model, quick_jit
from unmixnet.training.augmentation import Leftover, NuisanceSpread, bank_of, virtual_batch
from unmixnet.training.epoch import TrainingPlan
from unmixnet.training.objective import Recipe, virtual_loss
from unmixnet.training.pretraining import RecordingNuisances, _residuals, calibrate_physics, pretrain_encoder

from .runs import arrays

QUICKLY = partial(jax.jit, compiler_options=QUICK)
QUIET = NuisanceSpread(gain=0.0, offset=0.0, strength=0.0, noise=0.0)
PHYSICS = ("species", "materials", "diffusivity")
MODEL, N = model(), 9
pytestmark = pytest.mark.soak  # a calibration of a minute


@pytest.fixture(scope="module")
def recorded():
    """Recordings of another, true physics, as arrays of training."""
    key = jax.random.key(1, impl="unsafe_rbg")
    nothing = Leftover(jnp.zeros((0, 1, M)), jnp.zeros((0, 3)))
    true = model(seed=5)
    made = quick_jit(lambda m: virtual_batch(bank_of(m, 16, T, QUIET, key, leftover=nothing), N, T, QUIET, key))(true)
    return eqx.tree_at(
        lambda a: (a.traces, a.lengths, a.targets, a.session),
        arrays(),
        (made.Y, jnp.full(N, T), made.a, jnp.zeros(N, int)),
    )


@pytest.fixture(scope="module")
def calibrated(recorded):
    told: list[dict] = []
    nuisance = replace(QUIET, gain=0.05, strength=0.05, noise=0.01)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(jax, "jit", QUICKLY)
        found = calibrate_physics(MODEL, recorded, window=T, steps=150, polish=2, nuisance=nuisance, watch=told.append)
    return found, told


@pytest.fixture(scope="module")
def bank(calibrated, recorded):
    left = Leftover(jnp.asarray(calibrated[0].residuals), recorded.targets)
    key = jax.random.key(2, impl="unsafe_rbg")
    return quick_jit(lambda m: bank_of(m, 32, T, NuisanceSpread(), key, leftover=left))(calibrated[0].model)


def rms(model, recorded) -> float:
    none = RecordingNuisances(jnp.zeros(N), jnp.zeros((N, M)), jnp.zeros((N, M)))
    left = quick_jit(lambda m: _residuals(m, recorded.traces, recorded.targets, none))
    return float(jnp.sqrt(jnp.mean(left(model) ** 2)))


def test_calibration_explains_what_the_untrained_physics_does_not(recorded, calibrated):
    found, _ = calibrated
    assert found.rms < 0.3 * rms(MODEL, recorded)
    assert found.residuals.shape == (N, (T - 1) // 2, M)
    assert found.rms == pytest.approx(float(np.sqrt(np.mean(found.residuals**2))))


def test_the_finer_steps_go_on_where_the_rough_ones_stopped(calibrated):
    _, told = calibrated
    values = [entry["value"] for entry in told if entry["before"] == "physics, finer"]
    rough = [entry["value"] for entry in told if entry["before"] == "physics"]
    assert len(values) == 2
    assert values[-1] <= values[0] <= 1.05 * rough[-1]


def test_calibration_leaves_the_encoder_as_it_was(calibrated):
    for before, after in zip(jax.tree.leaves(MODEL.encoder), jax.tree.leaves(calibrated[0].model.encoder), strict=True):
        np.testing.assert_array_equal(before, after)
    assert not np.array_equal(MODEL.species, calibrated[0].model.species)


def test_schooling_teaches_the_encoder_and_leaves_the_physics(calibrated, bank, monkeypatch):
    start, recipe, plan = calibrated[0].model, Recipe(), TrainingPlan(rate=3e-3, decay=0.0)
    told: list[dict] = []
    monkeypatch.setattr(jax, "jit", QUICKLY)
    taught = pretrain_encoder(start, bank, recipe, plan, window=T, steps=100, seed=0, watch=told.append)
    cost = quick_jit(lambda m: virtual_loss(m, bank, 32, T, recipe, jax.random.key(7, impl="unsafe_rbg")))
    assert cost(taught) < 0.9 * cost(start)
    assert [entry["step"] for entry in told] == [50, 100]
    for part in PHYSICS:
        for before, after in zip(
            jax.tree.leaves(getattr(start, part)), jax.tree.leaves(getattr(taught, part)), strict=True
        ):
            np.testing.assert_array_equal(before, after)


def test_no_steps_teach_nothing(calibrated, bank):
    start = calibrated[0].model
    assert pretrain_encoder(start, bank, Recipe(), TrainingPlan(), window=T, steps=0, seed=0) is start

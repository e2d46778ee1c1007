"""An epoch is a function of state, recordings and seed: to the bit, resumed or not, until the first NaN."""

from contextlib import contextmanager
from functools import cache, partial
from unittest.mock import patch

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import float32
from tests.model.tiny import QUICK, finite
from tests.model.tiny import model as tiny_model
from unmixnet.training import epoch as epoch_module
from unmixnet.training.epoch import (
    TrainingPlan,
    _order,
    _update_factors,
    _windows,
    make_epoch,
    names_at,
    restored,
    start_state,
    steps_per_epoch,
)
from unmixnet.training.losses import Weights
from unmixnet.training.objective import Recipe, batch_loss
from unmixnet.training.trainer import TrainingError, fit, load_checkpoint

from .runs import PLAN, T, arrays, fingerprint, lines, mlp

ARRAYS = arrays()
RECIPE = Recipe(weights=Weights(ident=0.0))


@contextmanager
def as_in_a_run(double: bool = False):
    """Everything in single precision; the generator is one that compiles in a fraction of the time."""
    with jax.enable_x64(double), jax.default_prng_impl("unsafe_rbg"):
        yield


@pytest.fixture(autouse=True)
def _single():
    with as_in_a_run():
        yield


@cache
def unmixnet():
    return float32(tiny_model())


@cache
def epoch_of_unmixnet():
    """The epoch of the tiny UnMixNet; its step is compiled once for all tests, and quickly."""
    with as_in_a_run(), patch.object(jax, "jit", partial(jax.jit, compiler_options=QUICK)):
        return make_epoch(unmixnet(), PLAN, RECIPE, T)


def train(seed: int = 0, data=ARRAYS, folder=None, **options):
    options = {"tag": "t", "every": 2, **options}
    epoch_of = epoch_of_unmixnet()
    return fit(unmixnet(), data, PLAN, RECIPE, window=T, seed=seed, folder=folder, epoch_of=epoch_of, **options)


@cache
def uninterrupted() -> str:
    return fingerprint(train().model)


def spoilt():
    """The recordings with one reading that is not a number."""
    return eqx.tree_at(lambda a: a.traces, ARRAYS, ARRAYS.traces.at[1].set(jnp.nan))


def first_epoch(data=ARRAYS):
    state = start_state(unmixnet(), PLAN)
    return state, *epoch_of_unmixnet()(state, data, 0)


# ---------------------------------------------------------------- the same seed, the same bits


def test_a_real_epoch_moves_encoder_and_physics_and_stays_finite_in_single_precision():
    before, after, report = first_epoch()
    assert after.params.dtype == jnp.float32
    assert finite(after) and np.isfinite([report.loss, report.score, *report.parts.values()]).all()
    assert report.bad_step == -1
    old, new = restored(unmixnet(), before.params), restored(unmixnet(), after.params)
    for part in ("encoder", "species", "materials", "diffusivity", "kinetics", "transduction", "flow"):
        assert fingerprint(getattr(old, part)) != fingerprint(getattr(new, part)), part


def test_the_same_seed_gives_the_same_bits_and_another_one_others():
    assert fingerprint(train().model) == uninterrupted()
    assert fingerprint(train(seed=1).model) != uninterrupted()


def test_a_resumed_run_is_the_run_that_was_never_stopped(tmp_path):
    def crash(entry):
        if entry["epoch"] == 3:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        train(folder=tmp_path, watch=crash)
    assert fingerprint(train(folder=tmp_path, resume=True).model) == uninterrupted()
    assert len(lines(tmp_path)) == PLAN.epochs


def test_twin_a_run_that_forgets_its_epoch_is_another_run(tmp_path):
    def stop(entry):
        if entry["epoch"] == 2:
            raise KeyboardInterrupt

    train(folder=tmp_path, watch=stop)
    like = start_state(unmixnet(), PLAN)
    kept, _ = load_checkpoint(tmp_path / "checkpoint", like=like, tag="t")
    assert int(kept.epoch) == 2
    right, _ = epoch_of_unmixnet()(kept, ARRAYS, 0)
    wrong, _ = epoch_of_unmixnet()(eqx.tree_at(lambda s: s.epoch, kept, jnp.asarray(1, jnp.int32)), ARRAYS, 0)
    assert fingerprint(right.params) != fingerprint(wrong.params)


# ---------------------------------------------------------------- a number that is not one


def test_a_nan_stops_at_once_names_tensors_and_leaves_the_checkpoint(tmp_path):
    def stop(entry):
        if entry["epoch"] == 2:
            raise KeyboardInterrupt

    train(folder=tmp_path, watch=stop)
    like = start_state(unmixnet(), PLAN)
    before, _ = load_checkpoint(tmp_path / "checkpoint", like=like, tag="t")
    with pytest.raises(
        TrainingError, match=r"gradient of .*encoder\..* is not finite at step \d of epoch 3"
    ) as refused:
        train(folder=tmp_path, data=spoilt(), resume=True)
    assert "checkpoint is kept" in str(refused.value)
    after, history = load_checkpoint(tmp_path / "checkpoint", like=like, tag="t")
    assert fingerprint(after) == fingerprint(before)
    assert len(history) == len(lines(tmp_path)) == 2
    assert fingerprint(train(folder=tmp_path, resume=True).model) == uninterrupted()


def test_nothing_is_changed_from_the_first_bad_step_on():
    before, after, report = first_epoch(spoilt())
    assert report.bad_step >= 0
    assert finite((after.params, after.opt, after.ema, after.best))
    assert np.isinf(after.best_score)
    if report.bad_step == 0:
        assert fingerprint(after.params) == fingerprint(before.params)
    names = names_at(unmixnet(), report.bad)
    assert "encoder.views.W_LP" in names
    assert "kinetics.pairs.B" in names


def test_names_of_tensors_are_found_by_their_place_in_the_row():
    model = unmixnet()
    marked = jax.tree.map(lambda leaf: jnp.zeros_like(leaf), eqx.filter(model, eqx.is_inexact_array))
    marked = eqx.tree_at(lambda m: m.transduction.log_tau, marked, jnp.asarray([0.0, 1.0], jnp.float32))
    row = start_state(marked, PLAN).params
    assert names_at(model, np.asarray(row) > 0) == ["transduction.log_tau"]


# ---------------------------------------------------------------- what an epoch is made of


def test_a_row_gives_its_model_back():
    state = start_state(unmixnet(), PLAN)
    assert fingerprint(restored(unmixnet(), state.params)) == fingerprint(unmixnet())


def test_physical_coefficients_take_longer_steps_than_the_encoder():
    params = eqx.filter(unmixnet(), eqx.is_inexact_array)
    pace = restored(unmixnet(), jnp.asarray(_update_factors(params, 3.0)))
    assert {float(np.unique(leaf).item()) for leaf in jax.tree.leaves(eqx.filter(pace.encoder, eqx.is_array))} == {1.0}
    assert float(pace.species[0, 0]) == float(pace.kinetics.pairs.B[0, 0, 0]) == 3.0


def test_what_was_taken_from_the_recordings_stays_whatever_the_decay():
    reader = float32(tiny_model(reading="statistics"))
    pace = _update_factors(eqx.filter(reader, eqx.is_inexact_array), 3.0)
    trunk = restored(reader, jnp.asarray(pace)).encoder.trunk
    assert not np.any(trunk.air) and not np.any(trunk.mu) and not np.any(trunk.sigma)
    assert np.all(trunk.W == 1), "twin: the layer behind them is learned"


@pytest.mark.parametrize(("n", "batch", "steps"), [(1, 4, 1), (8, 4, 2), (9, 4, 3)])
def test_every_recording_is_seen_in_an_epoch(n, batch, steps):
    assert steps_per_epoch(n, batch) == steps


@pytest.mark.parametrize("windows", [1, 3])
def test_every_recording_gives_its_number_of_windows(windows):
    plan = TrainingPlan(windows=windows, batch=4)
    order = _order(8, plan, np.random.default_rng(0))
    assert order.shape == (2 * windows, 4)
    assert (np.bincount(order.ravel(), minlength=8) == windows).all()


def times_traced(monkeypatch, *data) -> int:
    """How often the step of a baseline is traced when it trains on several sets of recordings."""
    traced = []
    monkeypatch.setattr(epoch_module, "batch_loss", lambda *given: traced.append(0) or batch_loss(*given))
    epoch_module._step_of.cache_clear()
    for recordings in data:
        fit(mlp(), recordings, PLAN, RECIPE, window=T)
    return len(traced)


def test_trainings_on_other_recordings_share_the_compiled_step(monkeypatch):
    assert times_traced(monkeypatch, ARRAYS, arrays(n=5, v=3, seed=1)) == 1


def test_twin_windows_of_another_kind_need_a_step_of_their_own(monkeypatch):
    half = eqx.tree_at(lambda a: a.targets, ARRAYS, ARRAYS.targets.astype(jnp.float16))
    assert times_traced(monkeypatch, ARRAYS, half) == 2


def test_windows_lie_within_their_recordings():
    short = eqx.tree_at(lambda a: a.lengths, ARRAYS, jnp.asarray([T, 13, 20, 20], jnp.int32))
    ramp = jnp.broadcast_to(jnp.arange(20.0)[None, :, None], ARRAYS.traces.shape)
    short = eqx.tree_at(lambda a: a.traces, short, ramp)
    rows = np.repeat([0, 1, 2], 50)
    cut = np.asarray(_windows(short, rows, T, np.random.default_rng(0)).Y)[..., 0]
    np.testing.assert_array_equal(np.diff(cut, axis=1), 1)
    starts = cut[:, 0].reshape(3, 50)
    assert [sorted(set(row)) for row in starts[:2].tolist()] == [[0], [0, 1]]
    assert set(starts[2].tolist()) == set(range(9))


def test_a_baseline_trains_and_resumes_in_double_precision_with_the_mixture_loss_alone(tmp_path):
    def stop(entry):
        if entry["epoch"] == 2:
            raise KeyboardInterrupt

    with as_in_a_run(double=True):
        data = arrays(dtype=np.float64)
        options = {"window": T}
        whole = fit(mlp(), data, PLAN, RECIPE, **options)
        fit(mlp(), data, PLAN, RECIPE, folder=tmp_path, watch=stop, **options)
        resumed = fit(mlp(), data, PLAN, RECIPE, folder=tmp_path, resume=True, **options)
    assert fingerprint(resumed.model) == fingerprint(whole.model)
    assert set(whole.history[0]) == {"epoch", "loss", "L_mix", "validation", "best", "seconds"}


def test_without_validation_the_last_epoch_is_the_best():
    nothing = eqx.tree_at(
        lambda a: (a.windows, a.owner, a.truth), ARRAYS, (ARRAYS.windows[:0], ARRAYS.owner[:0], ARRAYS.truth[:0])
    )
    done = fit(mlp(), nothing, PLAN, RECIPE, window=T)
    assert done.best_epoch == PLAN.epochs

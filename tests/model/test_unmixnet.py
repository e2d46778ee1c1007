"""UnMixNet: the solver plays back what the encoder read, keeps its books, and knows of the trace one sample."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from tests.cases import seeds
from unmixnet.errors import ConfigError
from unmixnet.model.diffusivity import D_REF
from unmixnet.model.settings import Settings
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.physics.state import Status
from unmixnet.training.objective import closure_parts

from .tiny import CHAMBER, SETTINGS, K, M, T, filled, inference, model, quick_jit, ratios, shapes, windows

MODEL, SHAPE = model(), shapes(SETTINGS)
SAVE = ("y", "N", "J", "theta", "reservoirs", "closure")


@quick_jit
def played(model, inference, first, shares, miscount=1.0):
    """A reconstruction and its residuals, if the moles are counted wrongly by a factor."""
    solved = model.reconstruct(inference, first, T, shares=shares, save=SAVE)
    bent = eqx.tree_at(lambda s: s.rollout.saved.N, solved, miscount * solved.rollout.saved.N)
    return solved, closure_parts(model, bent)


@settings(max_examples=8)
@given(seed=seeds)
def test_a_reconstruction_conserves_mass_and_obeys_its_own_laws(seed):
    drawn, Y = filled(SHAPE, seed), windows(1, seed)[0]
    solved, parts = played(drawn, inference(seed), Y[0], ratios(1, seed)[0])
    assert solved.rollout.status == Status.OK
    assert parts["cons"] < 1e-12
    assert parts["ms"] < 1e-9
    assert parts["ads"] < 1e-22
    assert np.max(solved.rollout.saved.closure.mass_error) < 1e-12
    assert np.all(solved.rollout.saved.N >= 0)


def test_twin_moles_that_are_miscounted_are_noticed():
    _, parts = played(MODEL, inference(), windows()[0, 0], ratios()[0], 1.01)
    assert parts["cons"] > 1e-4


def test_the_reconstruction_stands_beside_the_samples_at_the_ends_of_its_steps():
    Y = windows()[0]
    solved, _ = played(MODEL, inference(), Y[0], ratios()[0])
    np.testing.assert_array_equal(MODEL.observed(Y), Y[2:11:2])
    assert solved.y.shape == MODEL.observed(Y).shape
    np.testing.assert_array_equal(solved.start.y, Y[0])
    assert float(solved.rollout.final.t) == 5.0


def test_two_mixtures_give_two_traces_and_the_same_one_gives_the_same():
    one, other = ratios(2)
    first = windows()[0, 0]
    y = played(MODEL, inference(), first, one)[0].y
    np.testing.assert_array_equal(played(MODEL, inference(), first, one)[0].y, y)
    assert np.max(np.abs(played(MODEL, inference(), first, other)[0].y - y)) > 1e-4


def test_without_a_trace_nothing_is_known():
    nothing = MODEL.uninformed()
    np.testing.assert_allclose(nothing.a, 1 / K)
    assert not np.any(nothing.h_Y)
    assert nothing.h_m.shape == (M, nothing.h_Y.shape[0])


@pytest.mark.parametrize("step_s", [0.5, 1.0])
def test_the_substeps_are_enough_for_the_fastest_flow_that_can_be_learned(step_s):
    drawn = eqx.tree_at(lambda m: m.flow.factor, model(step_s=step_s), jnp.asarray(50.0))
    fastest = np.e * np.exp(SETTINGS.modulation)
    assert drawn.policy().substeps_advection >= CHAMBER.cfl(step_s) * fastest


@pytest.mark.parametrize("step_s", [0.5, 1.0, 4.0])
def test_the_substeps_are_enough_for_the_fastest_diffusion_that_can_be_learned(step_s):
    wild = eqx.tree_at(lambda m: m.diffusivity.pairs.W.bias, model(step_s=step_s), jnp.full(1, 1e3))
    D = float(jnp.max(wild.diffusivity.table(wild.species))) * np.exp(SETTINGS.modulation)
    substep_s = step_s / wild.policy().substeps_diffusion
    assert CHAMBER.diffusion_number(substep_s, D) <= 1 + 1e-9
    unbounded = D_REF * float(jnp.max(wild.diffusivity.pairs(wild.species)))
    assert CHAMBER.diffusion_number(substep_s, unbounded) > 1, "twin: what the network asks for would be too fast"


def test_a_drawn_model_starts_as_a_global_one_with_its_air_and_signs():
    air, sign = (0.5, -1.5), (-1.0, 1.0)
    of = jax.jit(lambda: UnMixNet.of(SETTINGS, CHAMBER, K, air=air, sign=sign, key=_cheap_key()).transduction)
    drawn = of()
    np.testing.assert_array_equal(drawn.baseline, air)
    assert drawn.sign == sign
    assert not np.any(drawn.modulation.f.weight)
    assert not np.any(drawn.offset.f.bias)


def _cheap_key():
    return jax.random.key(0, impl="unsafe_rbg")


def test_a_window_shorter_than_a_step_cannot_be_asked_for():
    with pytest.raises(ConfigError, match="multiple of the sampling interval"):
        replace(SETTINGS, step_s=0.2)
    assert Settings().stride == 2

"""Every switch of the model runs: a finite loss, a finite gradient, and the switch makes a difference."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.physics.state import Status
from unmixnet.training.objective import closure_parts

from .tiny import K, T, finite, inference, largest, model, quick_jit, ratios, windows

SWITCHES = {
    "fick": {"diffusion": "fick"},
    "unconstrained": {"diffusion": "unconstrained"},
    "regularised": {"diffusion": "regularised"},
    "weighted": {"diffusion": "weighted"},
    "edgewise": {"edgewise": True},
    "scores": {"flow": "scores"},
    "inferred source": {"source": "inferred"},
    "linear readout": {"transduction": "linear"},
    "no modulation": {"modulation": 0.0},
    "clean air": {"start": "clean air"},
    "inferred start": {"start": "inferred"},
    "rise-decay": {"release": "rise-decay"},
}
TOGETHER = (
    ("fick", "linear readout", "clean air", "rise-decay", "inferred source"),
    ("unconstrained", "scores", "inferred start"),
    ("regularised", "no modulation"),
    ("weighted", "edgewise"),
)
"""Few programs that take every switch once: compiling is what these tests cost."""


def loss(both, window, shares, watched):
    """Reconstruction, and the residuals of the closure where they are watched."""
    model, read = both
    save = ("y", "N", "J", "theta", "reservoirs", "closure") if watched else ("y",)
    solved = model.reconstruct(read, window[0], T, shares=shares, save=save)
    residuals = sum(closure_parts(model, solved).values()) if watched else 0
    return jnp.mean((solved.y - model.observed(window)) ** 2) + residuals, solved.rollout.status


def judge(settings: dict, watched: bool):
    """Loss, status and slopes of a model with these settings."""
    graded = eqx.filter_value_and_grad(lambda both, Y, a: loss(both, Y, a, watched), has_aux=True)
    (value, status), slopes = quick_jit(graded)((model(**settings), inference()), windows()[0], ratios()[0])
    assert status == Status.OK
    assert np.isfinite(value)
    assert finite(slopes)
    return slopes


def check_reaches(slopes, settings: dict) -> None:
    """The gradient reaches what the switch brings in and leaves alone what it takes out."""
    physics, read = slopes
    assert largest(read.h_Y) > 0 or settings.get("modulation") == 0
    assert largest(physics.kinetics.pairs) > 0
    assert (largest(physics.flow.score) > 0) == (settings.get("flow") == "scores")
    assert (largest(physics.diffusivity.by_edge) > 0) == bool(settings.get("edgewise"))
    assert (largest(physics.diffusivity.prior) > 0) == (settings.get("diffusion") in ("weighted", "unconstrained"))
    assert (largest(physics.release.place) > 0) == (settings.get("source") == "inferred")
    assert (largest(physics.transduction.log_k) > 0) == (settings.get("transduction") != "linear")
    assert (largest(read.exposure) > 0) == (settings.get("start") == "inferred")
    assert largest(physics.encoder) == 0


def test_every_switch_is_in_some_program():
    assert {name for names in TOGETHER for name in names} == set(SWITCHES)


@pytest.mark.parametrize("names", TOGETHER, ids=" + ".join)
def test_switches_run_with_a_finite_gradient_that_reaches_what_they_bring(names):
    settings = {key: value for name in names for key, value in SWITCHES[name].items()}
    check_reaches(judge(settings, watched=False), settings)


@pytest.mark.soak
@pytest.mark.parametrize("name", SWITCHES)
def test_each_switch_alone_runs_with_its_closure_watched(name):
    check_reaches(judge(SWITCHES[name], watched=True), SWITCHES[name])


def test_without_modulation_the_trace_only_sets_the_strength():
    pure = model(modulation=0.0)
    slopes = jax.grad(lambda h: jnp.sum(_rates(pure, h)))(inference().h_Y)
    np.testing.assert_array_equal(slopes, 0)


def test_twin_with_modulation_the_trace_sets_the_rates():
    assert largest(jax.grad(lambda h: jnp.sum(_rates(model(), h)))(inference().h_Y)) > 0


def _rates(drawn, h_Y):
    return drawn.kinetics(drawn.species[1:], drawn.materials, jnp.zeros(2), h_Y).k_ads[:K]

"""The closed loop: what is told, what is inferred, and whom the gradient reaches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.model.tiny import K, M, finite, largest, model, quick_jit, ratios, windows
from unmixnet.model.predict import predict_ratios
from unmixnet.training.losses import Weights, class_loss, mixture_loss
from unmixnet.training.objective import Batch, Recipe, batch_loss, fingerprints

from .runs import mlp, with_values

MODEL, B = model(), 2
BATCH = Batch(windows(B), ratios(B))
AIR, SD, SIGN = jnp.full(M, -2.0), jnp.ones(M), jnp.asarray([1.0, -1.0])
PHYSICS = ("species", "materials", "release", "flow", "diffusivity", "kinetics", "transduction")
RECONSTRUCT = Weights(mix=0.0, rec=1.0, freq=1.0, ident=0.0, entropy=0.0)


def loss(model, batch, recipe, key):
    return batch_loss(model, batch, recipe, AIR, SD, SIGN, key)


@quick_jit
def reconstructing(model, batch, teacher, key):
    """Reconstruction alone: the loss, its parts and its slopes; the program does not depend on the teacher."""
    recipe = with_values(Recipe(weights=RECONSTRUCT), teacher=teacher)
    return eqx.filter_value_and_grad(loss, has_aux=True)(model, batch, recipe, key)


@quick_jit
def alone(model, batch, key):
    """The encoder alone, with every augmentation."""
    recipe = Recipe(mixing="competitive", jitter_gain=0.1, jitter_offset=0.1, classes=True, virtual=1.0)
    return eqx.filter_value_and_grad(loss, has_aux=True)(model, batch, recipe, key)


def at(teacher: float, seed: int = 0):
    return reconstructing(MODEL, BATCH, jnp.asarray(teacher), jax.random.key(seed, impl="unsafe_rbg"))


def test_the_gradient_reaches_encoder_and_physics_and_is_finite():
    (value, parts), slopes = at(0.0)
    assert set(parts) == {"mix", "rec", "freq"}
    assert float(value) == pytest.approx(float(parts["rec"] + parts["freq"]))
    assert finite((value, slopes))
    for part in PHYSICS:
        assert largest(getattr(slopes, part)) > 0, part
    for part in ("views", "trunk", "level", "sensors", "layers", "mixture", "state"):
        assert largest(getattr(slopes.encoder, part)) > 0, part


def test_told_the_ratios_reconstruction_calibrates_the_physics_and_says_nothing_about_them():
    _, slopes = at(1.0)
    assert largest(slopes.encoder.mixture) == largest(slopes.encoder.layers) == 0
    # strength and modulation are still the encoder's own
    assert largest(slopes.encoder.state) > 0
    for part in PHYSICS:
        assert largest(getattr(slopes, part)) > 0, part


def test_twin_not_told_the_ratios_have_to_explain_the_trace():
    assert largest(at(0.0)[1].encoder.mixture) > 1e-6


def test_told_by_halves_some_windows_are_told_and_others_not():
    told, own = (float(at(teacher)[0][1]["rec"]) for teacher in (1.0, 0.0))
    mixed = {round(float(at(0.5, seed)[0][1]["rec"]), 9) for seed in range(12)}
    assert told != own
    assert len(mixed) > 2


def test_with_half_of_a_batch_solved_only_the_first_half_is_reconstructed_and_all_of_it_teaches():
    key, recipe = jax.random.key(0, impl="unsafe_rbg"), Recipe(weights=RECONSTRUCT, teacher=1.0, solved=0.5)
    half = quick_jit(lambda batch: loss(MODEL, batch, recipe, key)[1])
    parts = half(BATCH)
    second = eqx.tree_at(lambda b: b.Y, BATCH, BATCH.Y.at[1].add(jnp.linspace(0, 1, BATCH.Y.shape[1])[:, None]))
    first = eqx.tree_at(lambda b: b.Y, BATCH, BATCH.Y.at[0].add(jnp.linspace(0, 1, BATCH.Y.shape[1])[:, None]))
    assert half(second)["rec"] == parts["rec"] and half(second)["mix"] != parts["mix"]
    # twin: a change of the window that is solved is seen
    assert half(first)["rec"] != parts["rec"]


def test_the_mixture_part_is_that_of_the_encoder_and_does_not_depend_on_the_teacher():
    (_, told), _ = at(1.0)
    (_, own), _ = at(0.0)
    assert float(told["mix"]) == pytest.approx(float(own["mix"]), rel=1e-12)


def test_the_encoder_alone_has_no_solver_and_no_gradient_in_the_physics():
    (value, parts), slopes = alone(model(closure=False), BATCH, jax.random.key(0, impl="unsafe_rbg"))
    assert set(parts) == {"mix"}
    assert float(value) == pytest.approx(float(parts["mix"]))
    assert finite(slopes)
    assert largest(slopes.encoder) > 0
    assert all(largest(getattr(slopes, part)) == 0 for part in PHYSICS)


def test_a_baseline_has_the_mixture_loss_alone():
    recipe = Recipe(weights=Weights(mix=0.0), virtual=1.0)
    value, parts = quick_jit(loss)(mlp(), BATCH, recipe, jax.random.key(0, impl="unsafe_rbg"))
    assert set(parts) == {"mix"}
    assert float(value) == float(parts["mix"]) > 0


def test_predicted_ratios_lie_on_the_simplex():
    for any_model in (MODEL, mlp()):
        guess = quick_jit(predict_ratios)(any_model, windows()[0])
        assert guess.shape == (K,)
        assert float(jnp.sum(guess)) == pytest.approx(1, abs=1e-12)


def test_fingerprints_are_the_responses_to_pure_substances_over_clean_air():
    H = np.asarray(quick_jit(lambda m: fingerprints(m, 12))(MODEL)).reshape(K, -1, M)
    assert np.all(np.sign(H) == np.asarray(MODEL.transduction.sign))
    assert min(np.linalg.norm(H[i] - H[j]) for i in range(K) for j in range(i)) > 1e-3


def test_a_sure_and_right_answer_costs_nothing():
    right = jnp.asarray([0.4, 0.6, 0.0])
    assert float(mixture_loss(jnp.asarray([50.0, 50.0, -50.0]), right, right)) < 1e-20
    assert float(class_loss(jnp.eye(K)[1], jnp.eye(K)[1])) == pytest.approx(0, abs=1e-7)

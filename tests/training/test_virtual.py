"""Virtual recordings: mixtures on the simplex, the solver's own traces, and no gradient back into the physics."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import seeds
from tests.model.tiny import K, M, T, finite, largest, model, quick_jit
from unmixnet.training.augmentation import Leftover, NuisanceSpread, bank_of, random_ratios, virtual_batch
from unmixnet.training.losses import mixture_loss

from .runs import with_values

MODEL, B = model(), 6
QUIET = {"gain": 0.0, "offset": 0.0, "strength": 0.0, "noise": 0.0}


@quick_jit
def made(model, key, nuisance, leftover):
    """Virtual recordings, what the solver makes of their true shares, and the slopes of the encoder's loss on them."""
    told = with_values(NuisanceSpread(), **nuisance)

    def loss(model):
        bank = bank_of(model, 8, T, told, key, leftover=leftover)
        made = virtual_batch(bank, B, T, told, key)
        answers = jax.vmap(model)(made.Y)
        return jnp.mean(jax.vmap(mixture_loss)(answers.z_logits, answers.a, made.a)), (made.Y, made.a)

    slopes, (Y, a) = eqx.filter_grad(loss, has_aux=True)(model)
    again = jax.vmap(lambda y, a: model.reconstruct(model.uninformed(), y[0], T, shares=a).y)(Y, a)
    return Y, a, again, slopes


def key(seed: int) -> jax.Array:
    """A key whose draws compile in a fraction of the time."""
    return jax.random.key(seed, impl="unsafe_rbg")


def drawn(seed: int = 0, residual: float = 0.0, **nuisance):
    values = {name: jnp.asarray(value) for name, value in {**QUIET, **nuisance}.items()}
    left = jnp.arange(1.0, K + 1)[:, None, None] * jnp.full((K, (T - 1) // 2, M), residual)
    return made(MODEL, key(seed), values, Leftover(left, jnp.eye(K)))


@given(seed=seeds, largest_=st.integers(1, 5))
def test_ratios_lie_on_the_simplex_with_at_most_so_many_substances(seed, largest_):
    a = np.asarray(quick_jit(random_ratios)(4, largest_, key(seed % 2**31)))
    assert np.all(a >= 0)
    assert a.sum() == pytest.approx(1, abs=1e-12)
    assert 1 <= np.count_nonzero(a) <= min(largest_, 4)


def test_every_number_of_substances_and_every_substance_comes_up():
    a = np.asarray(quick_jit(jax.vmap(lambda key: random_ratios(5, 3, key)))(jax.random.split(key(0), 600)))
    counts = np.bincount(np.count_nonzero(a, axis=1), minlength=4)
    assert counts[0] == 0
    np.testing.assert_allclose(counts[1:] / 600, 1 / 3, atol=0.07)
    np.testing.assert_allclose(np.mean(a, axis=0), 1 / 5, atol=0.05)


def test_the_solver_reproduces_a_quiet_recording_from_its_true_shares():
    Y, _, again, _ = drawn()
    np.testing.assert_allclose(again, Y[:, 2:11:2], rtol=1e-9, atol=1e-9)
    assert np.max(np.ptp(Y, axis=0)) > 0.01


@pytest.mark.parametrize("what", ["gain", "offset", "strength", "noise"])
def test_twin_a_nuisance_moves_the_recording_and_not_its_label(what):
    Y, a, *_ = drawn()
    moved, label, *_ = drawn(**{what: 0.2})
    np.testing.assert_array_equal(label, a)
    assert np.max(np.abs(moved - Y)) > 1e-3


def test_noise_has_its_size_and_a_gain_leaves_clean_air_alone():
    Y = drawn()[0]
    noise = np.asarray(drawn(noise=0.1)[0] - Y)
    assert 0.06 < noise.std() < 0.14
    air = np.asarray(MODEL.transduction.baseline)
    factor = np.asarray(drawn(gain=0.2)[0] - air) / np.asarray(Y - air)
    np.testing.assert_allclose(factor, np.tile(factor[:, :1], (1, T, 1)), rtol=1e-6)
    assert factor.shape == (B, T, M)


def test_no_gradient_reaches_the_physics_and_all_of_the_encoder_gets_one():
    _, a, _, slopes = drawn(noise=0.02)
    assert finite(slopes)
    assert a.shape == (B, K)
    for part in ("species", "materials", "release", "flow", "diffusivity", "kinetics", "transduction"):
        assert largest(getattr(slopes, part)) == 0, part
    for part in ("views", "trunk", "level", "sensors", "layers", "mixture"):
        assert largest(getattr(slopes.encoder, part)) > 0, part


def test_a_recording_carries_what_the_physics_could_not_say_of_its_substances_by_their_shares():
    (told, a, *_), (quiet, *_) = drawn(residual=0.5), drawn()
    expected = 0.5 * np.asarray(a) @ np.arange(1, K + 1)
    np.testing.assert_allclose(
        (told - quiet)[:, 2:], np.broadcast_to(expected[:, None, None], (B, T - 2, M)), atol=1e-4
    )


def test_twin_a_residual_of_another_substance_would_be_noticed():
    (told, a, *_), (quiet, *_) = drawn(residual=0.5), drawn()
    shifted = 0.5 * np.asarray(a) @ np.roll(np.arange(1, K + 1), 1)
    assert np.max(np.abs((told - quiet)[:, 2:] - shifted[:, None, None])) > 0.1

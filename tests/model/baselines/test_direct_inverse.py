"""The direct inverse finds the mixture that its own solver made, and stops by its rule."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.model.baselines.direct_inverse import InverseSettings, invert_all
from unmixnet.model.settings import Settings
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.simulation.builders import portable_enose

T = 41
SEARCH = InverseSettings(pure_starts=2, noise=1e-3)
MIXTURES = np.array([[0.7, 0.3, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.2, 0.3, 0.5]])


@pytest.fixture(scope="module", autouse=True)
def _single_precision():
    """As studies run it; compiling in double precision takes twice as long."""
    with jax.enable_x64(False):
        yield


@pytest.fixture(scope="module")
def model() -> UnMixNet:
    """An untrained model whose sensors differ in what they adsorb."""
    drawn = UnMixNet.of(Settings(start="clean air", release="rise-decay"), portable_enose(), 3, key=jax.random.key(3))
    return eqx.tree_at(lambda m: m.kinetics.pairs.B, drawn, 4 * drawn.kinetics.pairs.B)


@pytest.fixture(scope="module")
def windows(model) -> np.ndarray:
    """Noise-free traces of the mixtures, at the rate of the encoder."""
    air, stride = model.transduction.baseline, model.settings.stride

    @eqx.filter_jit
    def trace(model, a):
        typical = eqx.tree_at(lambda i: i.log_strength, model.uninformed(), jnp.asarray(0.1))
        y = jnp.concatenate([air[None], model.reconstruct(typical, air, T, shares=a).y])
        times = jnp.arange(T) / stride
        return jax.vmap(lambda column: jnp.interp(times, jnp.arange(len(y)), column), 1, 1)(y)

    return np.stack([trace(model, jnp.asarray(a, jnp.float32)) for a in MIXTURES])


@pytest.fixture(scope="module")
def found(model, windows):
    return invert_all(model, windows, SEARCH, batch=4)


def test_the_mixture_of_a_noise_free_trace_is_recovered(found):
    assert np.abs(found.a - MIXTURES).max() < 0.02
    np.testing.assert_allclose(found.a.sum(axis=1), 1, rtol=1e-5)
    assert np.all(np.abs(found.log_gain) < 0.05) and np.all(np.abs(found.log_strength - 0.1) < 0.1)


def test_twin_another_solver_does_not_recover_it(model, windows):
    wrong = eqx.tree_at(lambda m: m.kinetics.pairs.B, model, -3 * model.kinetics.pairs.B)
    assert np.abs(invert_all(wrong, windows, SEARCH, batch=4).a - MIXTURES).max() > 0.1


def test_a_search_stops_when_a_step_hardly_helps_or_at_its_limit(model, windows, found):
    assert np.all((found.steps > 3) & (found.steps <= SEARCH.most_steps))
    easily_pleased = invert_all(model, windows, replace(SEARCH, improvement=1.0), batch=4)
    limited = invert_all(model, windows, replace(SEARCH, most_steps=3), batch=4)
    assert np.all(easily_pleased.steps < found.steps) and np.all(limited.steps == 3)
    assert np.all(easily_pleased.loss >= found.loss) and np.all(limited.loss >= found.loss)


def test_answers_do_not_depend_on_the_batch(model, windows, found):
    alone = invert_all(model, windows[:3], SEARCH, batch=4)
    np.testing.assert_allclose(alone.a, found.a[:3], atol=1e-4)

"""Laws of the source: what is released adds up, whatever the step, and never turns negative."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import float32, law_error, relative, seeds
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.source import Constant, RiseDecay, Source, Tabulated, inject, release, source_weights

K, V = 3, 4
TIMES = jnp.asarray([0.0, 1.0, 4.0, 20.0, 21.0])
inject_jit = eqx.filter_jit(inject)


def make(seed: int, kind: str, vaporisation: float = 0.0, humidity: float = 0.0) -> Source:
    rng = np.random.default_rng(seed)
    profile = {
        "rise-decay": RiseDecay(*jnp.asarray(rng.uniform(0.5, 20, (2, K))), jnp.asarray(100.0)),
        "constant": Constant(),
        "tabulated": Tabulated(TIMES, jnp.asarray(rng.uniform(0, 1, (5, K)))),
    }[kind]
    weights = source_weights(jnp.asarray(rng.normal(size=V)))
    return Source(
        jnp.asarray(rng.uniform(0.1, 2, K)),
        profile,
        weights,
        *jnp.full((2, K), jnp.array([[vaporisation], [humidity]])),
    )


@eqx.filter_jit
def total(source: Source, starts, lengths):
    return jnp.sum(jax.vmap(lambda t, h: release(source, Conditions.of(), t, h))(starts, lengths), axis=0)


def cut(seed: int, end: float, n: int = 40):
    """Random steps that fill [0, end]."""
    inner = np.sort(np.random.default_rng(seed).uniform(0, end, n - 1))
    knots = np.concatenate([[0.0], inner, [end]])
    return jnp.asarray(knots[:-1]), jnp.asarray(np.diff(knots))


@given(seed=seeds)
def test_a_rise_decay_release_adds_up_to_its_amount_for_any_steps(seed):
    source = make(seed, "rise-decay")
    assert relative(total(source, *cut(seed, 100.0)), source.amount) <= 1e-12
    half_way = total(source, *cut(seed, 10.0))
    assert np.all(half_way < source.amount) and np.all(half_way > 0)


@given(seed=seeds)
def test_a_tabulated_release_is_the_trapezium_of_its_table(seed):
    source = make(seed, "tabulated")
    expected = source.amount * np.trapezoid(source.profile.rates, TIMES, axis=0)
    assert relative(total(source, *cut(seed, 40.0)), expected) <= 1e-12
    rectangles = source.amount * np.sum(source.profile.rates[:-1] * np.diff(TIMES)[:, None], axis=0)
    assert relative(total(source, *cut(seed, 40.0)), rectangles) > 1e-6


@given(seed=seeds, end=st.floats(0.1, 1e4))
def test_a_constant_release_is_a_rate(seed, end):
    source = make(seed, "constant")
    assert relative(total(source, *cut(seed, end)), source.amount * end) <= 1e-12


@pytest.mark.parametrize("precision", [lambda tree: tree, float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", ["rise-decay", "tabulated"])
@given(seed=seeds, reach=st.floats(1, 3.5).map(lambda power: 10.0**power))
def test_a_source_never_takes_back_what_it_gave(precision, kind, seed, reach):
    source, (starts, lengths) = precision((make(seed, kind), cut(seed, reach)))
    given_moles = increments(source, starts, 1e-3 * jnp.ones_like(lengths))
    assert np.all(given_moles >= 0)
    assert np.any(given_moles > 0)


@eqx.filter_jit
def increments(source, starts, lengths):
    return jax.vmap(lambda t, h: release(source, float32(Conditions.of()), t, h))(starts, lengths)


@given(seed=seeds)
def test_injection_spreads_over_cells_by_the_source_weights_and_spares_the_carrier(seed):
    source = make(seed, "rise-decay")
    N = jnp.asarray(np.random.default_rng(seed).uniform(1, 2, (V, K + 1)).T)
    after, gain = inject_jit(N, source, Conditions.of(), jnp.asarray(2.0), jnp.asarray(0.5))
    assert relative(jnp.sum(source.p_src), 1) <= 1e-14
    assert np.all(gain[0] == 0)
    assert np.all(gain[1:] > 0)
    assert relative(gain[1] / gain[1, 0], source.p_src / source.p_src[0]) <= 1e-12
    assert relative(after, N + gain) <= 1e-15


@given(seed=seeds, shift=st.floats(-1e3, 1e3))
def test_source_weights_ignore_a_common_shift(seed, shift):
    scores = jnp.asarray(np.random.default_rng(seed).normal(size=V))
    assert relative(source_weights(scores + shift), source_weights(scores)) <= 1e-9
    assert float(jnp.max(source_weights(scores))) > 1 / V


@given(seed=seeds, warm=st.floats(299, 330))
def test_a_warm_source_releases_more_by_clausius_clapeyron(seed, warm):
    source = make(seed, "constant", vaporisation=40e3)
    cold, hot = (
        inject_jit(jnp.ones((K + 1, V)), source, Conditions.of(T), jnp.zeros(()), jnp.ones(()))[1]
        for T in (298.15, warm)
    )
    expected = np.exp(-40e3 / 8.31446261815324 * (1 / warm - 1 / 298.15))
    assert relative(hot[1:] / cold[1:], np.full((K, V), expected)) <= 1e-12
    assert expected > 1


@given(seed=seeds, humidity=st.floats(11, 30))
def test_humidity_moves_the_release_by_its_slope(seed, humidity):
    source = make(seed, "constant", humidity=-0.5)
    gain = inject_jit(jnp.ones((K + 1, V)), source, Conditions.of(298.15, humidity), jnp.zeros(()), jnp.ones(()))[1]
    dry = inject_jit(jnp.ones((K + 1, V)), source, Conditions.of(), jnp.zeros(()), jnp.ones(()))[1]
    assert relative(gain[1:] / dry[1:], np.full((K, V), (humidity / 10) ** -0.5)) <= 1e-12


@pytest.mark.parametrize("kind", ["rise-decay", "constant", "tabulated"])
def test_derivatives_of_the_injection_are_difference_quotients(kind):
    arguments = (
        jnp.ones((K + 1, V)),
        make(1, kind, 40e3, 0.3),
        Conditions.of(305.0, 15.0),
        jnp.asarray(2.3),
        jnp.asarray(0.4),
    )
    assert law_error(lambda args: inject(*args)[1], arguments) <= 1e-6


def test_twin_a_release_without_its_clock_has_the_wrong_derivative():
    def frozen(args):
        N, source, conditions, t, dt = args
        return inject(N, source, conditions, jax.lax.stop_gradient(t), dt)[1]

    arguments = (
        jnp.ones((K + 1, V)),
        make(1, "rise-decay"),
        Conditions.of(305.0, 15.0),
        jnp.asarray(2.3),
        jnp.asarray(0.4),
    )
    assert law_error(frozen, arguments) > 1e-3

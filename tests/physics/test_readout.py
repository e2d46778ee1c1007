"""Laws of the readout: monotone transduction from zero, and a lag that is bounded and forgets."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import law_error, normwise, relative, seeds
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.readout import Linear, Logarithmic, MonotoneSpline, PowerLaw, Readout, Sips, read, target
from unmixnet.physics.state import with_samples

M, K = 4, 3
FAMILIES = ("linear", "logarithmic", "power", "sips", "spline")
SIGN = jnp.asarray([1.0, -1.0, 1.0, -1.0])
steps = st.floats(-6, 6).map(lambda power: 10.0**power)


def family(name: str, rng: np.random.Generator):
    a, b = jnp.asarray(rng.uniform(0.3, 3, (2, M)))
    return {
        "linear": Linear(),
        "logarithmic": Logarithmic(a),
        "power": PowerLaw(a, b),
        "sips": Sips(a, b, jnp.asarray(rng.uniform(0.05, 0.5, M))),
        "spline": MonotoneSpline(jnp.asarray([0.0, 0.2, 0.5, 1.2]), jnp.asarray(rng.uniform(0.1, 2, (M, 4)).T)),
    }[name]


def sensors(seed: int, name: str = "power") -> Readout:
    rng = np.random.default_rng(seed)
    draw = lambda lo, hi, *shape: jnp.asarray(rng.uniform(lo, hi, (M, *shape)).T)  # noqa: E731
    return Readout(
        beta=draw(0.2, 1, K),
        g=family(name, rng),
        gain=draw(0.5, 2),
        sign=SIGN,
        baseline=draw(-1, 1),
        tau_rise=draw(0.5, 3),
        tau_recovery=draw(4, 20),
        baseline_slopes=draw(-0.01, 0.01, 2),
        gain_slopes=draw(-0.01, 0.01, 2),
    )


def surface(seed: int):
    return jnp.asarray(np.random.default_rng(seed).dirichlet(np.ones(K + 1), M).T)


transduce = eqx.filter_jit(lambda g, r: with_samples(g)(r))
read_jit = eqx.filter_jit(read)
target_jit = eqx.filter_jit(target)
AIR = Conditions.of()


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=seeds)
def test_every_family_rises_from_zero(name, seed):
    g = family(name, np.random.default_rng(seed))
    r = jnp.broadcast_to(jnp.linspace(0, 3, 100), (M, 100))
    values = np.asarray(transduce(g, r))
    assert np.max(np.abs(values[:, 0])) <= 1e-15
    assert np.all(np.diff(values, axis=1) > 0)


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=seeds)
def test_more_coverage_moves_the_signal_in_the_direction_of_its_sign(name, seed):
    readout, theta = sensors(seed, name), surface(seed)
    less = theta.at[1:].multiply(0.5)
    change = target_jit(theta, readout, AIR) - target_jit(less, readout, AIR)
    assert np.all(SIGN * change > 0)
    assert np.any(change < 0)


@given(seed=seeds, dt=steps)
def test_the_readout_stays_between_its_start_and_its_target(seed, dt):
    readout, theta = sensors(seed), surface(seed)
    y = jnp.asarray(np.random.default_rng(seed).normal(size=M))
    goal, after = target_jit(theta, readout, AIR), read_jit(y, theta, readout, AIR, jnp.asarray(dt))
    low, high = np.minimum(y, goal), np.maximum(y, goal)
    assert np.all(after >= low - 1e-15 * (1 + np.abs(low))) and np.all(after <= high + 1e-15 * (1 + np.abs(high)))
    assert np.any(after != y)


@given(seed=seeds, dt=steps)
def test_two_readouts_come_closer(seed, dt):
    readout, theta = sensors(seed), surface(seed)
    a, b = jnp.asarray(np.random.default_rng(seed).normal(size=(2, M)))
    after_a, after_b = (read_jit(y, theta, readout, AIR, jnp.asarray(dt)) for y in (a, b))
    slowest = np.exp(-dt / np.maximum(readout.tau_rise, readout.tau_recovery))
    assert np.all(np.abs(after_a - after_b) <= slowest * np.abs(a - b) + 1e-15)


@given(seed=seeds, dt=st.floats(0.01, 20), share=st.floats(0.1, 0.9))
def test_the_lag_is_exact_so_that_two_part_steps_are_one_step(seed, dt, share):
    readout, theta = sensors(seed), surface(seed)
    y = jnp.zeros(M)
    parts = read_jit(
        read_jit(y, theta, readout, AIR, jnp.asarray(share * dt)), theta, readout, AIR, jnp.asarray((1 - share) * dt)
    )
    assert normwise(parts, read_jit(y, theta, readout, AIR, jnp.asarray(dt))) <= 1e-13


@given(seed=seeds, dt=st.floats(0.05, 5))
def test_sensors_rise_and_recover_with_their_own_constants(seed, dt):
    readout = sensors(seed)
    exposed, clean = surface(seed), jnp.zeros((K + 1, M)).at[0].set(1)
    base, top = (target_jit(theta, readout, AIR) for theta in (clean, exposed))
    up = (read_jit(base, exposed, readout, AIR, jnp.asarray(dt)) - base) / (top - base)
    down = (read_jit(top, clean, readout, AIR, jnp.asarray(dt)) - top) / (base - top)
    assert relative(up, -np.expm1(-dt / readout.tau_rise)) <= 1e-11
    assert relative(down, -np.expm1(-dt / readout.tau_recovery)) <= 1e-11
    assert np.all(up > down)


@given(seed=seeds)
def test_the_slope_of_a_spline_is_continuous_and_given_at_the_knots(seed):
    g = family("spline", np.random.default_rng(seed))
    for k, knot in enumerate(np.asarray(g.knots)):
        for side in (-1e-9, 1e-9):
            if knot + side > 0:
                assert normwise(slope(g, jnp.full(M, knot + side)), g.slopes[k]) <= 1e-6
    assert normwise(slope(g, jnp.full(M, 5.0)), g.slopes[-1]) <= 1e-12


slope = eqx.filter_jit(lambda g, r: jax.grad(lambda r: jnp.sum(g(r)))(r))


@pytest.mark.parametrize(("name", "at"), [("logarithmic", 1e-9), ("power", 1e-9), ("linear", 1e-9)])
def test_a_weak_response_is_linear(name, at):
    g = family(name, np.random.default_rng(0))
    response = transduce(g, jnp.full((M, 1), at))[:, 0] / at
    expected = {"logarithmic": 1.0, "linear": 1.0}.get(name, g.k * g.n if name == "power" else 1.0)
    assert normwise(response, np.broadcast_to(expected, (M,))) <= 1e-6


@given(seed=seeds, warm=st.floats(300, 320), humid=st.floats(11, 25))
def test_the_climate_moves_baseline_and_gain_by_their_slopes(seed, warm, humid):
    readout, clean = sensors(seed), jnp.zeros((K + 1, M)).at[0].set(1)
    climate = np.array([warm - 298.15, np.log(humid / 10)])
    outside = Conditions.of(warm, humid)
    drift = target_jit(clean, readout, outside) - target_jit(clean, readout, AIR)
    assert normwise(drift, climate @ readout.baseline_slopes) <= 1e-12
    exposed = surface(seed)
    height = lambda air: target_jit(exposed, readout, air) - target_jit(clean, readout, air)  # noqa: E731
    assert normwise(height(outside) / height(AIR), np.exp(climate @ readout.gain_slopes)) <= 1e-12


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_of_the_readout_are_difference_quotients(name):
    arguments = (jnp.ones(M) * 0.3, surface(2), sensors(2, name), Conditions.of(305.0, 14.0), jnp.asarray(0.7))
    assert law_error(lambda args: read(*args), arguments) <= 1e-6


def test_twin_a_frozen_lag_has_the_wrong_derivative():
    frozen = lambda args: read(args[0], args[1], args[2], args[3], jax.lax.stop_gradient(args[4]))  # noqa: E731
    arguments = (jnp.ones(M) * 0.3, surface(2), sensors(2), Conditions.of(305.0, 14.0), jnp.asarray(0.7))
    assert law_error(frozen, arguments) > 1e-3

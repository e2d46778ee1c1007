"""Laws of the finite-volume diffusion step: moles are conserved, never negative, and run downhill."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import DT, GEOMETRY, diffusivity, has_nan, law_error, mixture, normwise, relative, seeds
from unmixnet.physics.closure import entropy_production
from unmixnet.physics.diffusion import composition, diffuse, fluxes, limit, wall_loss
from unmixnet.physics.maxwell_stefan import MaxwellStefan

V, E, S = 8, len(GEOMETRY.tail), 4
absurd = st.floats(-3, 30).map(lambda power: 10.0**power)
step = eqx.filter_jit(lambda N, law, dt: diffuse(N, law, GEOMETRY, dt))
flow = eqx.filter_jit(lambda N, law: fluxes(N, law, GEOMETRY))


def law(seed: int, **options) -> MaxwellStefan:
    rng = np.random.default_rng(seed)
    return MaxwellStefan(diffusivity(rng, S), jnp.asarray(rng.uniform(0.5, 2, E)), **options)


def moles(seed: int, odorants: float = 0.3):
    rng = np.random.default_rng(seed)
    return 40.9 * GEOMETRY.volume * jnp.stack([mixture(rng, S, odorants) for _ in range(V)], axis=1)


@given(seed=seeds, dt=absurd, odorants=st.sampled_from([0.9, 1e-3, 1e-6]))
def test_moles_stay_positive_and_conserved_at_absurd_steps(seed, dt, odorants):
    N = moles(seed, odorants)
    after, J, limited, _ = step(N, law(seed), jnp.asarray(dt))
    assert np.all(after >= 0) and not has_nan((after, J))
    assert relative(jnp.sum(after, axis=0), jnp.sum(N, axis=0)) <= 1e-13
    assert relative(jnp.sum(after, axis=1), jnp.sum(N, axis=1)) <= 1e-13
    assert normwise(after, N) > 0
    if dt > 1e4:
        assert limited


def test_twin_an_unlimited_step_turns_moles_negative():
    N, dt = moles(1), 1e4
    J, _ = flow(N, law(1))
    assert np.min(N + GEOMETRY.divergence(dt * GEOMETRY.area * J)) < 0


@given(seed=seeds)
def test_a_short_step_is_not_limited_and_passes_the_edge_flux(seed):
    N, dt = moles(seed), 1e-3
    after, J, limited, direct = step(N, law(seed), jnp.asarray(dt))
    assert not limited and direct == 0
    assert normwise(J, flow(N, law(seed))[0]) <= 1e-12
    assert normwise(after, N + dt * GEOMETRY.divergence(GEOMETRY.area * J)) <= 1e-14


def mixing_entropy(N) -> float:
    return -float(jnp.sum(N * jnp.log(composition(N, GEOMETRY.volume)[0])))


@given(seed=seeds)
def test_diffusion_mixes(seed):
    N = moles(seed)
    assert mixing_entropy(step(N, law(seed), jnp.asarray(0.05))[0]) > mixing_entropy(N)


def test_twin_diffusion_as_printed_runs_uphill():
    N, dt = moles(2), 0.01
    J, _ = flow(N, law(2))
    uphill = N - dt * GEOMETRY.divergence(GEOMETRY.area * J)
    assert mixing_entropy(uphill) < mixing_entropy(N)


@given(seed=seeds, odorants=st.sampled_from([0.9, 1e-3, 1e-6]))
def test_entropy_production_is_positive(seed, odorants):
    N, m = moles(seed, odorants), law(seed)
    x, c, _ = composition(N, GEOMETRY.volume)
    assert float(entropy(x, c, flow(N, m)[0], m)) > 0
    level = jnp.broadcast_to(x[:, :1], x.shape)
    assert float(entropy(level, c, jnp.zeros((S, E)), m)) == 0


entropy = jax.jit(lambda x, c, J, m: entropy_production(x, c, J, m.scale, m.D, GEOMETRY))


@given(seed=seeds, dt=absurd)
def test_the_limiter_keeps_the_balance_of_every_edge(seed, dt):
    N, J = moles(seed), flow(moles(seed), law(seed))[0]
    kept, _ = limited_jit(N, dt * GEOMETRY.area * J)
    assert np.all(np.abs(jnp.sum(kept, axis=0)) <= 1e-12 * jnp.sum(jnp.abs(kept), axis=0))
    assert np.all(GEOMETRY.departing(kept) <= 0.9 * N * (1 + 1e-12))


limited_jit = jax.jit(lambda N, moles: limit(N, moles, GEOMETRY))


@given(seed=seeds, cell=st.integers(0, V - 1))
def test_nothing_passes_an_edge_of_an_empty_cell(seed, cell):
    N = moles(seed).at[:, cell].set(0)
    after, J, _, _ = step(N, law(seed), DT)
    touching = (np.asarray(GEOMETRY.tail) == cell) | (np.asarray(GEOMETRY.head) == cell)
    assert np.all(J[:, touching] == 0) and not has_nan((after, J))
    assert np.all(np.asarray(J)[:, ~touching] != 0)


@given(seed=seeds, rate=st.floats(-6, 6), dt=absurd)
def test_walls_take_exponentially_and_record_what_they_took(seed, rate, dt):
    N, kappa = moles(seed), jnp.full((S, V), 10.0**rate)
    left, lost = walls(N, kappa, jnp.asarray(dt))
    assert np.all(left >= 0) and np.all(lost > 0)
    assert relative(left + lost, N) <= 1e-15
    assert np.max(np.abs(left - N * np.exp(-(10.0**rate) * dt)) / N) <= 1e-15


walls = jax.jit(wall_loss)


@pytest.mark.parametrize("dt", [0.01, 30.0], ids=["free", "limited"])
def test_derivatives_of_a_diffusion_step_are_difference_quotients(dt):
    def advance(args):
        N, m, dt = args
        symmetric = eqx.tree_at(lambda m: m.D, m, 0.5 * (m.D + m.D.T))
        return diffuse(N, symmetric, GEOMETRY, dt)[:2]

    arguments = (moles(3), law(3), jnp.asarray(dt))
    assert bool(step(*arguments)[2]) == (dt > 1)
    assert law_error(advance, arguments) <= 1e-6


def test_derivatives_of_wall_loss_are_difference_quotients():
    kappa = jnp.asarray(np.random.default_rng(0).uniform(0.1, 2, (V, S)).T)
    assert law_error(lambda args: wall_loss(*args), (moles(3), kappa, DT)) <= 1e-6


def test_twin_a_frozen_wall_has_the_wrong_derivative():
    kappa = jnp.asarray(np.random.default_rng(0).uniform(0.1, 2, (V, S)).T)
    frozen = lambda args: wall_loss(args[0], jax.lax.stop_gradient(args[1]), args[2])  # noqa: E731
    assert law_error(frozen, (moles(3), kappa, DT)) > 1e-3


@pytest.mark.parametrize("size", [1e-10, 1e-20, 1e-26])
def test_the_limiter_has_finite_slopes_for_traces_in_single_precision(size):
    single = jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, GEOMETRY)
    rng = np.random.default_rng(0)
    N = jnp.asarray(rng.uniform(0.5, 1, (V, S)).T, jnp.float32).at[1:].multiply(size)
    wanted = jnp.asarray(rng.normal(size=(E, S)).T, jnp.float32).at[1:].multiply(size)
    wanted = wanted.at[0].set(-jnp.sum(wanted[1:], axis=0))
    (_, acted), back = jax.vjp(lambda N, moles: limit(N, moles, single), N, wanted)
    assert bool(acted)
    nothing = (jnp.zeros((S, E), jnp.float32), np.zeros((), jax.dtypes.float0))
    assert all(bool(jnp.all(slope == 0)) for slope in back(nothing))


def grown_by(number: float) -> float:
    """How the derivative by a substance that is absent grows in 200 steps of so many stable ones."""
    D = MaxwellStefan(jnp.full((2, 2), 1e-5), jnp.ones(E))
    per_second = GEOMETRY.area / GEOMETRY.length * 1e-5
    out = np.zeros(V)
    for end in (GEOMETRY.tail, GEOMETRY.head):
        np.add.at(out, np.asarray(end), np.asarray(per_second))
    dt = jnp.asarray(number / np.max(out / np.asarray(GEOMETRY.volume)))
    clean = 40.9 * GEOMETRY.volume * jnp.array([[1.0], [0.0]])
    towards = jnp.zeros((2, V)).at[:, 0].set(jnp.array([-1.0, 1.0]) * 1e-9)

    @jax.jit
    def pushed(tangent):
        def one(tangent, _):
            return jax.jvp(lambda N: diffuse(N, D, GEOMETRY, dt)[0], (clean,), (tangent,))[1], None

        return jax.lax.scan(one, tangent, length=200)[0]

    return float(jnp.max(jnp.abs(pushed(towards))) / jnp.max(jnp.abs(towards)))


def test_in_stable_steps_the_derivative_by_an_absent_substance_does_not_grow():
    assert grown_by(0.9) <= 1


def test_twin_in_longer_steps_it_does_though_moles_stay_positive():
    assert grown_by(3.0) > 1e6

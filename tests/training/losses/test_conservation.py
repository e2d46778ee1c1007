"""L_cons vanishes for every flux of the solver, and notices messages that lose moles and cuts that make them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import DT, GEOMETRY, mixture, seeds
from tests.training.losses.slopes import descent, is_finite, value_and_slope
from unmixnet.physics.diffusion import diffuse, fluxes
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.state import Reservoirs, State
from unmixnet.training.losses import conservation_loss

V, E, S, M, T = len(GEOMETRY.volume), len(GEOMETRY.tail), 4, 2, 5


def gas(seed: int) -> State:
    rng = np.random.default_rng(seed)
    N = 40.9 * GEOMETRY.volume * jnp.stack([mixture(rng, S, 0.3) for _ in range(V)], axis=1)
    theta = jnp.zeros((S, M)).at[0].set(1)
    return State(N, theta, jnp.zeros(M), Reservoirs(*[jnp.zeros(S)] * 6), jnp.zeros(()))


def closed_box(advance, start: State):
    """L_cons of T steps of a box without openings, each by `advance`."""
    _, N = jax.lax.scan(lambda N, _: (advance(N),) * 2, start.N, None, length=T)
    theta = jnp.broadcast_to(start.theta, (T, S, M))
    still = jax.tree.map(lambda moles: jnp.broadcast_to(moles, (T, S)), start.reservoirs)
    return conservation_loss(N, theta, still, start, jnp.ones(M))


def law(log_scale=0.0, form="exact") -> MaxwellStefan:
    D = 1e-5 * jnp.asarray(np.exp(np.add.outer(np.arange(S), np.arange(S)) / 4))
    return MaxwellStefan(D, jnp.exp(log_scale) * jnp.ones(E), prior=1e-3 * jnp.ones((S, E)), form=form)


def leaking(leak, start):
    """Messages that are not antisymmetric: the tail does not lose all that the head gains."""

    def advance(N):
        J = fluxes(N, law(), GEOMETRY)[0]
        moles = DT * GEOMETRY.area * J
        return N.at[:, GEOMETRY.head].add(moles).at[:, GEOMETRY.tail].add(-(1 - leak) * moles)

    return closed_box(advance, start)


def cut_off(log_scale, start):
    """An unconstrained flux without a limiter: what would be negative is set to zero, and so moles are made."""

    def advance(N):
        J = fluxes(N, law(log_scale, "unconstrained"), GEOMETRY)[0]
        after = N + GEOMETRY.divergence(30.0 * GEOMETRY.area * J)
        return jnp.where(after < 0, 0, after)

    return closed_box(advance, start)


@pytest.mark.parametrize("form", ["exact", "fick", "unconstrained"])
def test_every_flux_of_the_solver_conserves_even_when_it_is_limited(form):
    conserving = lambda start: closed_box(lambda N: diffuse(N, law(form=form), GEOMETRY, 300 * DT)[0], start)  # noqa: E731
    assert jax.jit(conserving)(gas(0)) <= 1e-13


@given(seed=seeds)
def test_it_pushes_a_leak_to_zero(seed):
    start = gas(seed)
    for leak in (0.3, -0.3):
        assert descent(leaking, jnp.asarray(leak), start) == pytest.approx(1, abs=0.05)
        assert np.sign(value_and_slope(leaking, jnp.asarray(leak), start)[1]) == np.sign(leak)


def test_twin_without_a_leak_there_is_nothing_to_push():
    assert value_and_slope(leaking, jnp.zeros(()), gas(0))[0] <= 1e-13


def test_it_pushes_a_flux_that_is_cut_off_to_a_size_that_needs_no_cut():
    start = gas(3)
    assert value_and_slope(cut_off, jnp.zeros(()), start)[0] > 1e-2
    assert descent(cut_off, jnp.zeros(()), start) > 0.5
    assert value_and_slope(cut_off, jnp.asarray(-9.0), start)[0] <= 1e-13


def plain(N, theta, moved, sites):
    start = State(N[0], theta[0], N[0, 0, :M], Reservoirs(*[moved[0]] * 6), N[0, 0, 0])
    reservoirs = jax.tree.map(lambda _: moved, start.reservoirs)
    return conservation_loss(N, theta, reservoirs, start, sites)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0, 1e15])
def test_loss_and_derivatives_are_finite_everywhere(size):
    rng = np.random.default_rng(0)
    draw = lambda *shape: size * jnp.asarray(rng.normal(size=shape))  # noqa: E731
    assert is_finite(plain, draw(T, S, V), draw(T, S, M), draw(T, S), draw(M))

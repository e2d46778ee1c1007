"""Ablated fluxes: what they keep of Maxwell and Stefan, what they break, and that they are safe to train with."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import (
    DT,
    GEOMETRY,
    edges,
    float32,
    has_nan,
    law_error,
    mixture,
    normwise,
    problem,
    relative,
    seeds,
    stirred,
)
from unmixnet.physics.diffusion import diffuse, limit
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.physics.state import Status, with_samples

ABLATED = ("fick", "unconstrained")
V, E, S = len(GEOMETRY.volume), len(GEOMETRY.tail), 4
solve = eqx.filter_jit(edge_flux)
step = eqx.filter_jit(lambda N, law, dt: diffuse(N, law, GEOMETRY, dt))


def as_form(law: MaxwellStefan, form, prior=None) -> MaxwellStefan:
    return MaxwellStefan(law.D, law.scale, prior=prior, form=form)


def net(J) -> np.ndarray:
    """|Σ J|/Σ|J| of every edge."""
    return np.abs(np.sum(J, axis=0)) / np.sum(np.abs(J), axis=0)


@pytest.mark.parametrize("form", ABLATED)
@given(seed=seeds, odorants=st.sampled_from([1e-2, 1e-4, 1e-6, 1e-8]))
def test_at_traces_an_odorant_that_ignores_the_others_is_right_to_the_order_of_its_fraction(form, seed, odorants):
    law, *rest = edges(seed, 13, odorants)
    exact, ablated = solve(law, *rest)[0], solve(as_form(law, form), *rest)[0]
    # the coupling is of the order of x times the spread of D, which is 10 here
    assert normwise(ablated[1:], exact[1:]) <= 10 * odorants
    assert normwise(ablated[1:], exact[1:]) > 0


@pytest.mark.parametrize("form", ABLATED)
@given(seed=seeds)
def test_twin_at_a_third_of_the_gas_it_is_wrong(form, seed):
    law, *rest = edges(seed, 13, 0.3)
    assert normwise(solve(as_form(law, form), *rest)[0][1:], solve(law, *rest)[0][1:]) > 1e-2


@given(seed=seeds, odorants=st.sampled_from([0.5, 1e-6]))
def test_two_species_are_fick_exactly(seed, odorants):
    law, *rest = edges(seed, 2, odorants)
    assert relative(solve(as_form(law, "fick"), *rest)[0], solve(law, *rest)[0]) <= 1e-12


@given(seed=seeds, odorants=st.sampled_from([0.3, 1e-6]))
def test_only_the_unconstrained_flux_breaks_the_sum(seed, odorants):
    law, *rest = edges(seed, 13, odorants)
    assert np.all(net(solve(as_form(law, "fick"), *rest)[0]) <= 1e-12)
    assert np.all(net(solve(as_form(law, "unconstrained"), *rest)[0]) > 1e-6)


@given(seed=seeds)
def test_the_learned_flux_enters_as_it_is_and_only_there(seed):
    law, *rest = edges(seed, 5, 0.3)
    w = jnp.asarray(np.random.default_rng(seed).normal(size=(6, 5)).T)
    x = 0.5 * (rest[0] + rest[1])
    free = solve(as_form(law, "unconstrained", w), *rest)[0] - solve(as_form(law, "unconstrained"), *rest)[0]
    assert normwise(free, law.scale * x * w) <= 1e-12
    assert np.array_equal(solve(as_form(law, "fick", w), *rest)[0], solve(as_form(law, "fick"), *rest)[0])


@pytest.mark.parametrize("form", ABLATED)
def test_one_matrix_per_edge_gives_the_flux_of_the_shared_matrix(form):
    law, *rest = edges(3, 5, 0.3, form=form)
    own = MaxwellStefan(jnp.broadcast_to(law.D[..., None], (5, 5, 6)), law.scale, form=form)
    assert relative(solve(own, *rest)[0], solve(law, *rest)[0]) <= 1e-14


def gas(seed: int, odorants: float = 0.3):
    rng = np.random.default_rng(seed)
    return 40.9 * GEOMETRY.volume * jnp.stack([mixture(rng, S, odorants) for _ in range(V)], axis=1)


def pumping(seed: int, form, strength: float = 1e-3) -> MaxwellStefan:
    """A law whose learned flux pumps gas about."""
    rng = np.random.default_rng(seed)
    law = edges(seed, S, 0.3, E=E)[0]
    return as_form(law, form, strength * jnp.asarray(rng.normal(size=(E, S)).T))


@pytest.mark.parametrize("form", ABLATED)
@given(seed=seeds, dt=st.floats(-3, 30).map(lambda power: 10.0**power))
def test_an_ablated_step_stays_positive_and_keeps_every_species_at_absurd_steps(form, seed, dt):
    N = gas(seed)
    after, J, limited, direct = step(N, pumping(seed, form), jnp.asarray(dt))
    assert np.all(after >= 0) and not has_nan((after, J)) and direct == 0
    assert relative(jnp.sum(after, axis=1), jnp.sum(N, axis=1)) <= 1e-13
    if dt > 1e4:
        assert limited


@given(seed=seeds)
def test_fick_keeps_the_pressure_and_the_unconstrained_flux_does_not(seed):
    N = gas(seed)
    total = jnp.sum(N, axis=0)
    kept, lost = (jnp.sum(step(N, pumping(seed, form), DT)[0], axis=0) for form in ABLATED)
    assert relative(kept, total) <= 1e-13
    assert relative(lost, total) > 1e-6


def test_twin_a_limiter_that_closes_the_balance_would_hide_the_broken_sum():
    N, law = gas(0), pumping(0, "unconstrained")
    x = N / jnp.sum(N, axis=0)
    J, _ = edge_flux(law, x[:, GEOMETRY.tail], x[:, GEOMETRY.head], jnp.full(E, 40.9), GEOMETRY.length)
    moles = DT * GEOMETRY.area * J
    assert np.all(net(limit(N, moles, GEOMETRY)[0]) <= 1e-12)
    assert np.all(net(limit(N, moles, GEOMETRY, closed=False)[0]) > 1e-9)


def ablated(process, form, prior=None):
    law = process.diffusion
    return eqx.tree_at(lambda p: p.diffusion, process, MaxwellStefan(law.D, law.scale, prior=prior, form=form))


@pytest.mark.parametrize("form", ABLATED)
def test_a_rollout_keeps_its_books_but_not_maxwell_and_stefan(form):
    process, _ = problem(1, odorant_fraction=0.1)
    start = stirred(process, 1, 0.3)
    run = jax.jit(lambda p, s: rollout(p, GEOMETRY, s, DT, 10, save=("ledger", "closure"), policy=Policy(order=1)))(
        ablated(process, form), start
    )
    assert run.status == Status.OK
    assert np.max(run.saved.ledger) <= 1e-12 and np.max(run.saved.closure.mass_error) <= 1e-12
    # the full law leaves 1e-9 at most
    assert np.min(run.saved.closure.ms_residual) > 1e-3


@pytest.mark.parametrize("how", ["batch", "vmap"])
@pytest.mark.parametrize("form", [*ABLATED, "regularised"])
def test_a_batch_with_clean_air_and_impossible_priors_has_finite_derivatives(form, how):
    process, air = problem(2, odorant_fraction=1e-2)

    def signal(process, geometry, start, D, amount, prior):
        p = eqx.tree_at(lambda p: (p.diffusion.D, p.source.amount), ablated(process, form, prior), (D, amount))
        result = rollout(p, geometry, start, DT, 10, save=("y",), policy=Policy(order=1))
        return jnp.sum(result.saved.y**2), result.status

    def total(*given):
        if how == "batch":
            return signal(*with_samples((process, GEOMETRY, air)), *given)
        alone = partial(signal, process, GEOMETRY, air)
        loss, status = jax.vmap(alone, in_axes=(None, -1, -1))(*given)
        return jnp.sum(loss), status

    amounts = process.source.amount[:, None] * jnp.asarray([0.0, 1.0, 1.0, 1.0, 1.0])
    priors = jnp.zeros((S, E, 5)).at[1, 0, 2:].set(jnp.asarray([np.nan, np.inf, 1e200]))
    slopes, status = jax.jit(jax.grad(total, argnums=(0, 1, 2), has_aux=True))(process.diffusion.D, amounts, priors)
    assert list(status) == [Status.OK] * 2 + [Status.BAD_DIFFUSION] * 3
    assert not has_nan(slopes) and np.any(slopes[0] != 0) and np.any(slopes[1][:, 0] != 0)
    assert np.any(slopes[2][..., :2] != 0) == (form == "unconstrained")
    assert np.all(slopes[2][..., 2:] == 0)


def test_single_precision_stays_single_and_near_double():
    process, start = problem(2, odorant_fraction=1e-3)
    process = ablated(process, "unconstrained", 1e-4 * jnp.ones((S, E)))
    run = jax.jit(lambda p, s, geometry, dt: rollout(p, geometry, s, dt, 10, save=("J",), policy=Policy(order=1)))
    double = run(process, start, GEOMETRY, DT)
    with jax.numpy_dtype_promotion("strict"):
        single = run(*float32((process, start, GEOMETRY, DT)))
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(single) if eqx.is_inexact_array(leaf))
    assert relative(single.final.N, double.final.N) <= 1e-4


@pytest.mark.parametrize("dt", [0.01, 30.0], ids=["free", "limited"])
def test_derivatives_of_an_unconstrained_step_are_difference_quotients(dt):
    def advance(args):
        N, law, dt = args
        symmetric = eqx.tree_at(lambda m: m.D, law, 0.5 * (law.D + law.D.T))
        return diffuse(N, symmetric, GEOMETRY, dt)[:2]

    arguments = (gas(3), pumping(3, "unconstrained"), jnp.asarray(dt))
    assert bool(step(*arguments)[2]) == (dt > 1)
    assert law_error(advance, arguments) <= 1e-6


def test_twin_a_frozen_learned_flux_has_the_wrong_derivative():
    def frozen(args):
        N, law, dt = args
        return diffuse(N, eqx.tree_at(lambda m: m.prior, law, jax.lax.stop_gradient(law.prior)), GEOMETRY, dt)[:2]

    assert law_error(frozen, (gas(3), pumping(3, "unconstrained"), jnp.asarray(0.01))) > 1e-3

"""Reactions in the gas: what one odorant loses another gains, nothing runs below zero, and the books record it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import GEOMETRY, problem, stirred
from unmixnet.physics.closure import ledger_error
from unmixnet.physics.conditions import Conditions
from unmixnet.physics.reaction import FirstOrder, react
from unmixnet.physics.rollout import Policy, rollout

K = 3
TURNS = jnp.zeros((K, K)).at[1, 0].set(0.2).at[2, 1].set(0.05)
"""The first odorant turns into the second, and that into the third."""
CHAIN = FirstOrder(TURNS, jnp.zeros(K))
POLICIES = {"first order": Policy(order=1, checkpoint="none"), "second order": Policy(stages=3, checkpoint="none")}


def closed_chamber(reaction):
    """Nothing flows, nothing adsorbs, nothing is released: only the reaction acts on a well-mixed gas."""
    process, start = problem(0, K)
    process = eqx.tree_at(
        lambda p: (p.flow, p.inlet, p.wall, p.source.amount, p.surface.sites, p.reaction),
        process,
        (jax.tree.map(jnp.zeros_like, process.flow), None, None, jnp.zeros(K), jnp.zeros(4), reaction),
        is_leaf=lambda leaf: leaf is None,
    )
    x = jnp.asarray([0.97, 0.02, 0.007, 0.003])
    return process, eqx.tree_at(lambda s: s.N, start, jnp.sum(start.N, axis=0) * x[:, None])


def solved(reaction, policy, dt: float, n: int):
    process, start = closed_chamber(reaction)
    return start, rollout(process, GEOMETRY, start, jnp.asarray(dt), n, save=("N", "ledger"), policy=policy)


def exact(reaction: FirstOrder, start, t: float) -> np.ndarray:
    k = np.asarray(reaction.k) - np.diag(np.asarray(reaction.k).sum(axis=0) + np.asarray(reaction.decay))
    return np.asarray(jax.scipy.linalg.expm(jnp.asarray(k * t)) @ start.N[1:])


@pytest.mark.parametrize(("name", "slope"), [("first order", 1.0), ("second order", 2.0)])
def test_halving_the_step_approaches_the_exponential(name, slope):
    errors = []
    for n in (8, 16, 32):
        start, run = solved(CHAIN, POLICIES[name], 8 / n, n)
        errors.append(np.max(np.abs(run.final.N[1:] - exact(CHAIN, start, 8.0))))
    assert np.log2(errors[1] / errors[2]) == pytest.approx(slope, abs=0.15)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_what_one_odorant_loses_another_gains(policy):
    start, run = solved(CHAIN, policy, 0.5, 40)
    total = start.N[1:].sum()
    assert abs(run.final.N[1:].sum() - total) <= 1e-13 * total
    assert float(jnp.max(run.saved.ledger)) <= 1e-13
    made = run.final.reservoirs.reaction
    assert made[1] < -0.5 * start.N[1].sum() and made[3] > 0 and made[0] == 0


def test_twin_books_without_the_reaction_do_not_close():
    start, run = solved(CHAIN, POLICIES["second order"], 0.5, 40)
    forgotten = eqx.tree_at(lambda r: r.reaction, run.final.reservoirs, jnp.zeros(K + 1))
    none = jnp.zeros(K + 1)
    assert np.max(ledger_error(start.N.sum(1), run.final.N.sum(1), none, none, forgotten)) > 0.1


@jax.jit
def reacted(N, dt):
    return react(N, N, CHAIN, Conditions.of(), GEOMETRY, dt)


@given(seed=st.integers(0, 2**20), dt=st.floats(1e-3, 1e6))
def test_no_step_uses_up_more_than_there_is_and_the_proportions_stay(seed, dt):
    process, _ = problem(seed, K)
    N = stirred(process, seed, 0.2).N
    after, made, short = reacted(N, jnp.asarray(dt))
    assert np.all(after >= 0) and bool(short) == bool(np.any(dt * 0.2 * N[1] > N[1]) | np.any(made[1:] + N[1:] < 0))
    assert np.all(np.abs(made.sum(axis=0)) <= 1e-12 * np.abs(made).sum(axis=0))
    assert np.all(made[1] < 0)


def test_the_stages_of_a_step_follow_the_fastest_reaction():
    fast = FirstOrder(TURNS, jnp.full(K, 50.0))
    start, run = solved(fast, Policy(), 1.0, 2)
    assert int(run.status) == 0
    assert np.max(run.final.N[1:]) <= 1e-3 * np.max(start.N[1:])


def test_a_coefficient_that_is_not_a_number_is_named():
    _, run = solved(FirstOrder(TURNS, jnp.full(K, jnp.nan)), POLICIES["second order"], 1.0, 2)
    assert "reaction" in run.final.reservoirs.__dataclass_fields__ and int(run.status) == 15
    assert np.all(np.isfinite(run.final.N))


def test_derivatives_by_a_rate_are_difference_quotients():
    def last(k):
        _, run = solved(FirstOrder(k * TURNS, jnp.zeros(K)), POLICIES["first order"], 0.5, 4)
        return run.final.N[3].sum()

    last, h = jax.jit(last), 1e-5
    slope, quotient = float(jax.grad(last)(1.0)), float(last(1 + h) - last(1 - h)) / (2 * h)
    assert slope == pytest.approx(quotient, rel=1e-6) and slope > 0

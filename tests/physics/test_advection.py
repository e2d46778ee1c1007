"""Laws of advection: what leaves a cell arrives somewhere, and no cell gives more than it holds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from tests.cases import DT, ENOSE, GEOMETRY, law_error, normwise, relative, seeds
from unmixnet.physics.advection import Scores, Velocities, advect, advective_rate, inflow, transfer
from unmixnet.physics.state import with_samples

V, E, S = len(ENOSE.cells), len(ENOSE.edges), 4
steps = st.floats(-3, 6).map(lambda power: 10.0**power)


def flow(seed: int, kind: str):
    rng = np.random.default_rng(seed)
    inlet = jnp.asarray(rng.uniform(0, 1e-6, V))
    outlet = np.where(np.arange(V) >= V - 2, 1.0, 0.0)
    if kind == "velocities":
        return Velocities(jnp.asarray(rng.normal(scale=1e-2, size=E)), jnp.asarray(2e-6 * outlet), inlet)
    scores = jnp.asarray(rng.normal(scale=2, size=(2, E, S)).swapaxes(1, 2))
    vent = jnp.asarray(np.where(outlet > 0, rng.normal(size=(V, S)).T, -np.inf))
    return Scores(*scores, vent, jnp.asarray(rng.uniform(0.01, 2, (V, S)).T), inlet)


def moles(seed: int):
    return jnp.asarray(np.random.default_rng(seed).uniform(0, 1e-3, (V, S)).T)


@eqx.filter_jit
def once(N, wind, dt):
    P = transfer(wind, GEOMETRY, dt)
    return P, advect(N, P, GEOMETRY)


@pytest.mark.parametrize("kind", ["velocities", "scores"])
@given(seed=seeds, dt=steps)
def test_transfer_is_positive_and_conserves_moles_at_any_step(kind, seed, dt):
    N = moles(seed)
    P, (after, along, out) = once(N, flow(seed, kind), jnp.asarray(dt))
    assert np.all(after >= 0) and np.all(P.stay >= 0)
    assert relative(jnp.sum(after + out, axis=1), jnp.sum(N, axis=1)) <= 1e-14
    assert np.any(out > 0) and np.any(after != N)
    # the recorded edge transfers and outlets are the whole change
    assert normwise(after, N + GEOMETRY.divergence(along) - out) <= 1e-13


def test_twin_a_transfer_with_its_sign_turned_does_not_account_for_the_change():
    N = moles(1)
    _, (after, along, out) = once(N, flow(1, "velocities"), DT)
    assert normwise(after, N - GEOMETRY.divergence(along) - out) > 1e-3


@given(seed=seeds, dt=steps)
def test_scores_never_offer_more_than_the_cell_holds(seed, dt):
    wind = flow(seed, "scores")
    P, _ = once(moles(seed), wind, jnp.asarray(dt))
    leaving = P.outlet.at[:, GEOMETRY.tail].add(P.forward).at[:, GEOMETRY.head].add(P.backward)
    assert np.all(leaving <= 1) and not P.limited
    assert np.all(leaving <= -np.expm1(-wind.rate * dt) * (1 + 1e-12))


@given(seed=seeds)
def test_velocities_beyond_cfl_are_scaled_back_and_reported(seed):
    wind = flow(seed, "velocities")
    rate = np.zeros(V)
    np.add.at(rate, GEOMETRY.tail, GEOMETRY.area * np.maximum(wind.velocity, 0))
    np.add.at(rate, GEOMETRY.head, GEOMETRY.area * np.maximum(-wind.velocity, 0))
    fastest = float(np.max((rate + wind.outlet_flow) / GEOMETRY.volume))
    below, _ = once(moles(seed), wind, jnp.asarray(0.99 / fastest))
    above, (after, _, _) = once(moles(seed), wind, jnp.asarray(1.01 / fastest))
    assert not below.limited and above.limited
    assert float(jnp.min(above.stay)) == 0
    assert np.all(after >= 0)


def rate_matrix(wind) -> np.ndarray:
    """dN/dt = A N of the first species, by probing the rate with unit moles."""
    # the unit moles of one cell after the other are samples
    unit = jnp.broadcast_to(jnp.eye(V), (S, V, V))
    return np.asarray(advective_rate(unit, *with_samples((wind, GEOMETRY)))[0])


@pytest.mark.parametrize("kind", ["velocities", "scores"])
def test_many_short_steps_converge_to_the_exponential_with_first_order(kind):
    wind, N, T = flow(3, kind), moles(3), 0.2
    exact = expm(T * rate_matrix(wind)) @ np.asarray(N)[0]
    counts, errors = np.array([32, 64, 128]), []
    for n in counts:
        after = N
        for _ in range(n):
            after = once(after, wind, jnp.asarray(T / n))[1][0]
        errors.append(normwise(after[0], exact))
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(-1, abs=0.2)
    assert errors[-1] < 1e-2


def test_twin_scores_whose_share_ignores_the_step_do_not_converge():
    wind, N, T = flow(3, "scores"), moles(3), 0.2
    exact = expm(T * rate_matrix(wind)) @ np.asarray(N)[0]
    after = N
    for _ in range(64):
        after = once(after, wind, jnp.asarray(T))[1][0]
    assert normwise(after[0], exact) > 0.1


@given(seed=seeds, share=st.floats(0.05, 0.95), dt=st.floats(0.01, 10))
def test_without_retention_two_part_steps_keep_what_one_step_keeps(seed, share, dt):
    wind = flow(seed, "scores")
    eager = Scores(wind.forward + 60, wind.backward + 60, wind.outlet + 60, wind.rate, wind.inlet_flow)
    whole, first, second = (once(moles(seed), eager, jnp.asarray(h))[0] for h in (dt, share * dt, (1 - share) * dt))
    assert normwise(first.stay * second.stay, whole.stay) <= 1e-12
    assert normwise(whole.stay, np.exp(-eager.rate * dt)) <= 1e-12


@given(seed=seeds)
def test_an_outlet_without_a_score_carries_nothing_away(seed):
    _, (_, _, out) = once(moles(seed), flow(seed, "scores"), DT)
    assert np.all(out[:, : V - 2] == 0) and np.all(out[:, V - 2 :] > 0)


@given(seed=seeds)
def test_inlets_bring_their_volume_of_gas(seed):
    wind = flow(seed, "velocities")
    air = jnp.zeros((S, V)).at[0].set(1)
    brought = inflow(wind, air, jnp.asarray(40.9), DT)
    assert relative(jnp.sum(brought), 0.1 * 40.9 * jnp.sum(wind.inlet_flow)) <= 1e-13
    assert np.all(brought[1:] == 0)


@pytest.mark.parametrize("kind", ["velocities", "scores"])
def test_derivatives_of_advection_are_difference_quotients(kind):
    wind = flow(5, kind)
    closed = None if kind == "velocities" else jnp.where(jnp.isinf(wind.outlet), -jnp.inf, 0.0)

    def law(args):
        N, wind, dt = args
        if closed is not None:
            wind = eqx.tree_at(lambda w: w.outlet, wind, wind.outlet + closed)
        return advect(N, transfer(wind, GEOMETRY, dt), GEOMETRY)

    if closed is not None:
        wind = eqx.tree_at(lambda w: w.outlet, wind, jnp.where(jnp.isinf(wind.outlet), 0.0, wind.outlet))
    assert law_error(law, (moles(5), wind, DT)) <= 1e-6


def test_twin_a_frozen_wind_has_the_wrong_derivative():
    def frozen(args):
        N, wind, dt = args
        return advect(N, transfer(jax.lax.stop_gradient(wind), GEOMETRY, dt), GEOMETRY)

    assert law_error(frozen, (moles(5), flow(5, "velocities"), DT)) > 1e-3

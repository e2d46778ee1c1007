"""L_ads vanishes for the sensor boundary as it is, and notices approximate reactions, lost sites and wrong lags."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import DT, GEOMETRY, float32, problem, stirred
from tests.training.losses.slopes import descent, value_and_slope
from unmixnet.physics.adsorption import coverage, generator
from unmixnet.physics.readout import read
from unmixnet.training.losses import adsorption_loss

PROCESS, _ = problem(1, odorant_fraction=0.1)
START = stirred(PROCESS, 1, 0.3)
T, (S, M) = 6, START.theta.shape


def inconsistency(N, theta, y, start=START, process=PROCESS, dt=DT):
    return adsorption_loss(N, theta, y, start, process, GEOMETRY, dt)


judge = jax.jit(inconsistency)


def held(reaction, lag=lambda y, theta: read(y, theta, PROCESS.readout, PROCESS.conditions, DT)):
    """Moles, coverages and signals of T steps of `reaction(θ, λ, δ)`; the sensors take from the gas what they take."""
    surface = PROCESS.surface

    def advance(carry, _):
        N, theta, y = carry
        c = (N[1:] / GEOMETRY.volume)[:, GEOMETRY.sensor_cell]
        after = jax.vmap(reaction, 1, 1)(theta, surface.k_ads * c, surface.k_des)
        taken = GEOMETRY.on_cells(surface.sites * (after - theta)[1:])
        N, y = N.at[1:].add(-taken), lag(y, after)
        return (N, after, y), (N, after, y)

    return jax.lax.scan(advance, (START.N, START.theta, START.y), None, length=T)[1]


def exact(theta, lam, delta):
    return coverage(theta, lam, delta, DT)


def euler(theta, lam, delta):
    return theta + DT * generator(lam, delta) @ theta


def without_competition(theta, lam, delta):
    """Every odorant adsorbs as if the surface were empty: sites are taken twice."""
    return jnp.append(theta[:1], theta[1:] + DT * (lam - delta * theta[1:]))


def lagging(log_factor):
    """A readout whose lags are too long by a factor."""
    slow = eqx.tree_at(
        lambda r: (r.tau_rise, r.tau_recovery),
        PROCESS.readout,
        tuple(jnp.exp(log_factor) * tau for tau in (PROCESS.readout.tau_rise, PROCESS.readout.tau_recovery)),
    )
    return lambda y, theta: read(y, theta, slow, PROCESS.conditions, DT)


def ablated(size, kind):
    """L_ads with a share of Euler, a share of no competition, or a lag that is too long."""
    by_euler, alone, late = size * kind

    def reaction(*args):
        return (1 - by_euler - alone) * exact(*args) + by_euler * euler(*args) + alone * without_competition(*args)

    return inconsistency(*held(reaction, lagging(late)))


@pytest.mark.parametrize("defect", range(3), ids=["euler", "no competition", "lag"])
def test_it_notices_an_ablation_and_pushes_it_away(defect):
    kind, half = jnp.eye(3)[defect], jnp.asarray(0.5)
    assert value_and_slope(ablated, jnp.zeros(()), kind)[0] <= 1e-28
    value, slope = value_and_slope(ablated, half, kind)
    assert value > 1e-9
    assert slope > 0
    assert descent(ablated, half, kind) == pytest.approx(1, abs=0.05)


def test_sites_that_are_lost_or_negative_are_counted():
    N, theta, y = held(exact)
    assert judge(N, theta, y) <= 1e-28
    assert judge(N, 0.9 * theta, y) >= 0.01
    negative = theta.at[:, 0].add(2.0).at[:, 1].add(-2.0)
    assert judge(N, negative, y) > 1


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-30, 1.0, 1e9])
def test_loss_and_derivatives_are_finite_everywhere(size):
    rng = np.random.default_rng(0)
    shapes = [(T, *START.N.shape), (T, S, M), (T, M)]
    for single in (False, True):
        given = [size * jnp.asarray(rng.normal(size=shape)) for shape in shapes]
        zero = jax.tree.map(jnp.zeros_like, START)
        given = [*given, zero, PROCESS, DT]
        value, slopes = (slope32 if single else slope64)(*(float32(given) if single else given))
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((value, slopes)))
        assert value.dtype == (jnp.float32 if single else jnp.float64)


slope64 = jax.jit(jax.value_and_grad(inconsistency, (0, 1, 2, 3)))
slope32 = jax.jit(
    jax.value_and_grad(
        lambda N, theta, y, *rest: adsorption_loss(N, theta, y, *rest[:2], float32(GEOMETRY), rest[2]), (0, 1, 2, 3)
    )
)

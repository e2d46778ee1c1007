"""The long counts: thousands of draws, a hundred thousand steps. Run by `make soak`; results in studies/results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.cases import GEOMETRY, edges, float32, problem, relative, stirred
from unmixnet.physics.adsorption import coverage
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux
from unmixnet.physics.rollout import rollout
from unmixnet.physics.state import Status

pytestmark = pytest.mark.soak
solve = jax.jit(lambda args: edge_flux(*args))


@pytest.mark.parametrize("odorants", [0.5, 1e-2, 1e-6, 1e-9])
def test_two_thousand_mixtures_sum_to_zero(odorants, measured):
    worst = 0.0
    for seed in range(2000):
        J, _ = solve(edges(seed, 13, odorants))
        worst = max(worst, float(np.max(np.abs(np.sum(J, axis=0)) / np.sum(np.abs(J), axis=0))))
    measured("largest |ΣJ|/Σ|J|", worst)
    assert worst <= 1e-12


@pytest.mark.parametrize("odorants", [1e-6, 1e-9])
def test_two_thousand_trace_mixtures_keep_their_fluxes_in_single_precision(odorants, measured):
    worst = 0.0
    for seed in range(2000):
        law, *rest = float32(edges(seed, 13, odorants, spread=20))
        exact = MaxwellStefan(law.D.astype(jnp.float64), law.scale.astype(jnp.float64))
        expected, _ = solve((exact, *(a.astype(jnp.float64) for a in rest)))
        worst = max(worst, relative(solve((law, *rest))[0], expected))
    measured("largest relative error of a component", worst)
    assert worst <= 1e-3


def run(n_steps: int):
    @jax.jit
    def forward(process, start, dt):
        end = rollout(process, GEOMETRY, start, dt, n_steps, save=("ledger",))
        return end.final, end.status, jnp.max(end.saved.ledger)

    return forward


@pytest.mark.parametrize("odorants", [1e-2, 1e-6])
def test_the_ledger_closes_over_a_hundred_thousand_steps(odorants, measured):
    process, start = problem(8, odorant_fraction=odorants)
    final, status, ledger = run(100_000)(process, start, jnp.asarray(0.05))
    measured("largest relative ledger error", float(ledger))
    assert status == Status.OK and ledger <= 1e-9
    assert np.all(final.N >= 0) and np.all(final.reservoirs.outlet[1:] > 0)


def test_two_hundred_problems_close_over_ten_thousand_steps(measured):
    forward, worst = run(10_000), 0.0
    for seed in range(200):
        process, start = problem(seed, odorant_fraction=10.0 ** -(1 + seed % 6))
        final, status, ledger = forward(process, start, jnp.asarray(0.05))
        assert status <= Status.LIMITED and np.all(final.N >= 0)
        worst = max(worst, float(ledger))
    measured("largest relative ledger error", worst)
    assert worst <= 1e-10


@pytest.mark.parametrize("stiff", [1.0, 1e3, 1e6])
def test_coverage_stays_on_the_simplex_for_a_million_steps(stiff, measured):
    rng = np.random.default_rng(0)
    lam, delta = jnp.asarray(stiff * 10.0 ** rng.uniform(-4, 0, (2, 12)))
    theta = jnp.asarray(rng.dirichlet(np.ones(13)))

    @jax.jit
    def advance(theta):
        step = lambda theta, k: (coverage(theta, lam * (1 + 0.5 * jnp.sin(0.01 * k)), delta, jnp.ones(())), None)  # noqa: E731
        return jax.lax.scan(step, theta, jnp.arange(1_000_000.0))[0]

    after = advance(theta)
    error = float(max(abs(jnp.sum(after) - 1), -jnp.min(after)))
    measured("departure from the simplex", error)
    assert error <= 1e-12
    assert np.max(np.abs(after - theta)) > 1e-2


def test_five_hundred_stirred_chambers_dissipate(measured):
    forward = jax.jit(lambda p, s: rollout(p, GEOMETRY, s, jnp.asarray(0.1), 20, save=("closure",)).saved.closure)
    least, residual = np.inf, 0.0
    for seed in range(500):
        odorants = 10.0 ** -(seed % 7)
        process, _ = problem(seed, odorant_fraction=1e-3)
        closure = forward(process, stirred(process, seed, 0.9 * odorants))
        least = min(least, float(jnp.min(closure.entropy_production)))
        residual = max(residual, float(jnp.max(closure.mass_error)))
    measured("least entropy production [mol/s]", least)
    assert least >= 0
    assert residual <= 1e-12

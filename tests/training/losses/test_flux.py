"""L_MS vanishes for Maxwell and Stefan, notices what an ablated flux breaks, and pushes its coefficients back."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import GEOMETRY, diffusivity, mixture, seeds
from tests.training.losses.slopes import descent, is_finite
from unmixnet.physics.diffusion import composition, fluxes
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.training.losses import flux_loss, flux_residual

V, E, S, T = len(GEOMETRY.volume), len(GEOMETRY.tail), 4, 3


def gas(seed: int, odorants: float = 0.3):
    """Moles of T unrelated moments, and pair diffusivities as logarithms of 1e-5 m²/s."""
    rng = np.random.default_rng(seed)
    x = np.stack([[mixture(rng, S, odorants) for _ in range(V)] for _ in range(T)])
    return 40.9 * GEOMETRY.volume * jnp.asarray(np.swapaxes(x, 1, 2)), jnp.log(diffusivity(rng, S) / 1e-5)


def trajectory(N, log_D, prior, form):
    """Composition, concentration and flux by a law, with the D that it claims."""
    D = 1e-5 * jnp.exp(0.5 * (log_D + log_D.T))
    law = MaxwellStefan(D, jnp.ones(E), prior=prior, form=form)
    x, c, _ = jax.vmap(lambda N: composition(N, GEOMETRY.volume))(N)
    return x, c, jax.vmap(lambda N: fluxes(N, law, GEOMETRY)[0])(N), D


def loss_of(form):
    def loss(coefficients, N):
        log_D, prior = coefficients
        x, c, J, D = trajectory(N, log_D, prior, form)
        return flux_loss(flux_residual(x, c, J, D, GEOMETRY), J)

    return loss


LOSS = {form: loss_of(form) for form in ("exact", "fick", "unconstrained")}
VALUE = {form: jax.jit(loss) for form, loss in LOSS.items()}
NONE = jnp.zeros((S, E))


@given(seed=seeds)
def test_the_law_itself_costs_nothing_and_every_ablation_something(seed):
    N, log_D = gas(seed)
    assert VALUE["exact"]((log_D, NONE), N) <= 1e-12
    assert VALUE["fick"]((log_D, NONE), N) > 1e-3
    assert VALUE["unconstrained"]((log_D, NONE), N) > VALUE["fick"]((log_D, NONE), N)


@given(seed=seeds)
def test_at_traces_fick_costs_next_to_nothing(seed):
    N, log_D = gas(seed, 1e-6)
    assert VALUE["fick"]((log_D, NONE), N) <= 1e-4


@given(seed=seeds)
def test_it_pushes_the_diffusivities_of_fick_to_where_fick_is_right(seed):
    N, log_D = gas(seed)
    assert descent(LOSS["fick"], (log_D, NONE), N) == pytest.approx(1, abs=0.05)


@given(seed=seeds)
def test_it_pushes_a_learned_flux_to_close_its_sum(seed):
    N, log_D = gas(seed)
    prior = 1e-3 * jnp.asarray(np.random.default_rng(seed).normal(size=(S, E)))
    assert descent(LOSS["unconstrained"], (log_D, prior), N) > 0.5


def test_the_net_flux_is_counted_beside_the_residual():
    J = jnp.zeros((T, S, E)).at[:, 1].set(2.0).at[:, 2].set(-2.0)
    assert flux_loss(jnp.full(T, 0.25), J) == pytest.approx(0.25)
    assert flux_loss(jnp.zeros(T), J.at[0, 1, 0].set(6.0)) == pytest.approx(0.5 / (T * E))


def test_edges_without_a_gradient_or_a_flux_cost_nothing():
    x, c, still = jnp.full((T, S, V), 1 / S), jnp.full((T, V), 40.9), jnp.zeros((T, S, E))
    D = diffusivity(np.random.default_rng(0), S)
    assert flux_loss(flux_residual(x, c, still, D, GEOMETRY), still) == 0
    assert flux_loss(flux_residual(x.at[0, 1, 0].add(1e-9), c, still, D, GEOMETRY), still) > 1e-3


def residual_loss(x, c, J, log_D):
    D = 1e-5 * jnp.exp(log_D)
    geometry = jax.tree.map(lambda leaf: leaf.astype(x.dtype) if eqx.is_inexact_array(leaf) else leaf, GEOMETRY)
    return flux_loss(flux_residual(x, c, J, D, geometry), J)


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0])
def test_loss_and_derivatives_are_finite_everywhere(size):
    N, log_D = gas(0)
    x, c, J, _ = trajectory(N, log_D, NONE, "exact")
    air = jnp.zeros_like(x).at[:, 0].set(1)
    for there in (x, air, size * x):
        assert is_finite(residual_loss, there, size * c, size * J, log_D)

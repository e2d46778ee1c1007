"""L_MS, L_cons and L_ads of the full solver: zero to rounding whatever its coefficients, with finite derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from tests.cases import DT, GEOMETRY, has_nan, problem, seeds, stirred
from unmixnet.physics.rollout import Policy, rollout
from unmixnet.training.losses import adsorption_loss, conservation_loss, flux_loss

PROCESS, AIR = problem(1, odorant_fraction=0.1)


def losses(process, start):
    """L_MS, L_cons and L_ads, and the rollout that they judge."""
    save, policy = ("N", "theta", "y", "J", "reservoirs", "closure"), Policy(checkpoint="none", order=1)
    run = rollout(process, GEOMETRY, start, DT, 6, save=save, policy=policy)
    saved = run.saved
    flux = flux_loss(saved.closure.ms_residual, saved.J)
    conservation = conservation_loss(saved.N, saved.theta, saved.reservoirs, start, process.surface.sites)
    adsorption = adsorption_loss(saved.N, saved.theta, saved.y, start, process, GEOMETRY, DT)
    return jnp.stack([flux, conservation, adsorption]), run


@jax.jit
def judged(process, start):
    """The losses, the rollout, and the derivatives of their sum by every coefficient."""

    def total(process):
        values, run = losses(process, start)
        return jnp.sum(values), (values, run)

    slopes, (values, run) = jax.grad(total, has_aux=True)(process)
    return values, run, slopes


@settings(max_examples=5)
@given(seed=seeds)
def test_the_full_solver_costs_nothing(seed):
    process, _ = problem(seed, odorant_fraction=0.1)
    values, _, slopes = judged(process, stirred(process, seed, 0.3))
    assert np.all(values <= np.asarray([1e-12, 1e-12, 1e-26]))
    assert not has_nan(slopes)


def test_clean_air_costs_nothing_and_has_finite_derivatives():
    nothing = eqx.tree_at(lambda p: p.source.amount, PROCESS, jnp.zeros(3))
    values, _, slopes = judged(nothing, AIR)
    assert np.all(values == 0)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(slopes))


def test_a_surface_that_empties_its_cell_costs_nothing():
    greedy = eqx.tree_at(lambda p: p.surface.sites, PROCESS, 1e6 * PROCESS.surface.sites)
    start = eqx.tree_at(lambda s: s.theta, stirred(PROCESS, 1, 0.3), AIR.theta)
    values, run, _ = judged(greedy, start)
    assert np.min(run.saved.N) == 0
    assert np.all(values[1:] <= np.asarray([1e-12, 1e-24]))


def test_a_rollout_that_is_continued_starts_from_its_own_books():
    _, run, _ = judged(PROCESS, stirred(PROCESS, 1, 0.3))
    assert np.all(run.final.reservoirs.wall[1:] > 0)
    assert judged(PROCESS, run.final)[0][1] <= 1e-12


@pytest.mark.parametrize("entry", ["source", "outlet", "wall"])
def test_twin_an_entry_that_the_books_forget_is_noticed(entry):
    start = stirred(PROCESS, 1, 0.3)
    saved = judged(PROCESS, start)[1].saved
    forgotten = eqx.tree_at(lambda r: getattr(r, entry), saved.reservoirs, jnp.zeros_like(saved.reservoirs.wall))
    assert conservation_loss(saved.N, saved.theta, forgotten, start, PROCESS.surface.sites) > 1e-6


def test_twin_surfaces_that_are_not_counted_are_noticed():
    start = stirred(PROCESS, 1, 0.3)
    saved = judged(PROCESS, start)[1].saved
    assert conservation_loss(saved.N, saved.theta, saved.reservoirs, start, 0 * PROCESS.surface.sites) > 1e-7

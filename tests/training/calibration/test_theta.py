"""Ω holds for every Θ, and what is not in the jar acts on nothing."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree

from unmixnet.simulation.builders import portable_enose
from unmixnet.training.calibration.forward import flat
from unmixnet.training.calibration.theta import Jar, in_omega, pair_places, prior_of, process_of

JAR = Jar(portable_enose(sensors=("a", "b")), (1.0, -1.0), "clean air", "rise-decay", 1.0, 5.0)
PRIOR = prior_of(3, [0.0, 1.0])


def drawn(seed: int, spread: float = 3.0):
    """Θ far from its prior."""
    row, unravel = ravel_pytree(PRIOR.mean)
    step = spread * flat(PRIOR.sd) * np.random.default_rng(seed).normal(size=row.size)
    return unravel(row + jnp.asarray(step))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_theta_lies_in_omega(seed):
    assert in_omega(process_of(drawn(seed), JAR))


@pytest.mark.parametrize(
    "where",
    [
        lambda p: p.diffusion.D,
        lambda p: p.surface.k_ads,
        lambda p: p.surface.k_des,
        lambda p: p.readout.beta,
        lambda p: p.readout.tau_rise,
    ],
)
def test_twin_a_negative_coefficient_is_outside(where):
    process = process_of(PRIOR.mean, JAR)
    assert not in_omega(eqx.tree_at(where, process, -where(process)))


def test_twin_a_diffusivity_that_is_not_symmetric_is_outside():
    process = process_of(PRIOR.mean, JAR)
    assert not in_omega(eqx.tree_at(lambda p: p.diffusion.D, process, process.diffusion.D.at[0, 1].mul(2)))


def test_coefficients_of_some_substances_are_those_of_all_in_their_places():
    theta, active = drawn(1), np.array([2, 0])
    some, all_ = process_of(theta.of(jnp.asarray(active)), JAR), process_of(theta, JAR)
    np.testing.assert_array_equal(some.surface.k_ads, all_.surface.k_ads[active])
    np.testing.assert_array_equal(some.source.amount, all_.source.amount[active])
    species = np.array([0, 3, 1])
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(some.diffusion.D[off], all_.diffusion.D[np.ix_(species, species)][off])


def test_every_pair_has_one_place():
    table = pair_places(4)
    i, j = np.triu_indices(5, 1)
    np.testing.assert_array_equal(table, table.T)
    assert sorted(table[i, j]) == list(range(10))

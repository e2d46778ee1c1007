"""The closure diagnostics vanish for what the solver does and notice what it should not do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from tests.cases import GEOMETRY, diffusivity, mixture, seeds
from unmixnet.physics.closure import entropy_production, ledger_error, mass_error, ms_residual, simplex_error
from unmixnet.physics.diffusion import composition, fluxes
from unmixnet.physics.maxwell_stefan import MaxwellStefan
from unmixnet.physics.state import Reservoirs

V, E, S = 8, len(GEOMETRY.tail), 4


@jax.jit
def diagnose(N, D, D_claimed):
    J, _ = fluxes(N, MaxwellStefan(D, jnp.ones(E)), GEOMETRY)
    x, c, _ = composition(N, GEOMETRY.volume)
    return ms_residual(x, c, J, D_claimed, GEOMETRY), entropy_production(x, c, J, jnp.ones(E), D, GEOMETRY)


def gas(seed: int):
    rng = np.random.default_rng(seed)
    N = 40.9 * GEOMETRY.volume * jnp.stack([mixture(rng, S, 0.3) for _ in range(V)], axis=1)
    return N, diffusivity(rng, S)


@given(seed=seeds)
def test_the_flux_satisfies_its_own_equation(seed):
    N, D = gas(seed)
    residual, entropy = diagnose(N, D, D)
    assert residual <= 1e-12
    assert entropy > 0


@given(seed=seeds)
def test_twin_a_dropped_decade_in_one_diffusivity_leaves_a_residual(seed):
    N, D = gas(seed)
    wrong = D.at[0, 2].multiply(0.1).at[2, 0].multiply(0.1)
    assert diagnose(N, D, wrong)[0] > 1e-3


def test_edges_without_a_gradient_have_no_residual():
    N, D = gas(0)
    level = GEOMETRY.volume * (N[:, :1] / GEOMETRY.volume[0])
    residual, entropy = diagnose(level, D, D)
    assert residual == 0
    # rounding of equal compositions is all the gradient there is
    assert 0 <= entropy <= 1e-25


def test_the_mass_error_counts_odorants_apart_from_the_carrier():
    N, _ = gas(1)
    gains = 0.01 * N
    assert max(mass_error(N, N + gains, gains)) <= 1e-15
    odorant, carrier = mass_error(N, N + gains, gains.at[2, 0].multiply(-1))
    assert odorant > 1e-4 and carrier <= 1e-15
    odorant, carrier = mass_error(N, N + gains, gains.at[0, 0].multiply(-1))
    assert odorant <= 1e-15 and carrier > 1e-4


def in_clean_air(error, dtype):
    """Value and gradient of an error, in all it is made of, where there is no odorant."""
    N = jnp.zeros((S, V), dtype).at[0].set(1e-4)
    parts = (N, N, jnp.zeros((S, V), dtype))
    return jax.value_and_grad(lambda parts: sum(error(*parts)))(parts)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_clean_air_has_no_mass_error_and_a_finite_gradient(dtype):
    value, gradient = in_clean_air(mass_error, dtype)
    assert value == 0 and value.dtype == dtype
    assert all(np.all(np.isfinite(part)) for part in gradient)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_twin_dividing_by_the_smallest_number_has_no_gradient_in_clean_air(dtype):
    def naive(N_before, N_after, gains):
        residual = jnp.abs(N_after - N_before - gains)
        return (jnp.sum(residual[1:]) / (jnp.sum(jnp.abs(N_after[1:])) + jnp.finfo(dtype).tiny),)

    value, gradient = in_clean_air(naive, dtype)
    assert value == 0
    assert not np.all(np.isfinite(gradient[1]))


@pytest.mark.parametrize("defect", ["vanished", "never came"])
def test_clean_air_that_was_not_expected_is_an_error(defect):
    """What was there before and is gone, and what was announced and is not there, are lost as a whole."""
    air = jnp.zeros((S, V)).at[0].set(1e-4)
    odour = air.at[2].set(1e-9)
    before, gains = (odour, jnp.zeros((S, V))) if defect == "vanished" else (air, odour - air)
    assert mass_error(before, air, gains)[0] == 1


@pytest.mark.parametrize("entry", ["source", "inlet", "boundary", "outlet", "wall", "reaction"])
def test_the_ledger_misses_every_entry_that_is_left_out(entry):
    entries = ["source", "inlet", "boundary", "outlet", "wall", "reaction"]
    moles = {name: jnp.full(S, 1.0 + k) for k, name in enumerate(entries)}
    start, adsorbed = jnp.full(S, 10.0), jnp.full(S, 0.5)
    come = moles["source"] + moles["inlet"] + moles["boundary"] + moles["reaction"]
    end = start + come - moles["outlet"] - moles["wall"] - adsorbed
    full = ledger_error(start, end, jnp.zeros(S), adsorbed, Reservoirs(**moles))
    forgotten = Reservoirs(**(moles | {entry: jnp.zeros(S)}))
    assert np.max(full) <= 1e-15
    assert np.min(ledger_error(start, end, jnp.zeros(S), adsorbed, forgotten)) > 1e-2


def test_the_simplex_error_sees_a_sum_and_a_sign():
    good = jnp.asarray([[0.2, 1.0], [0.8, 0.0]])
    assert simplex_error(good) == 0
    assert simplex_error(good.at[0, 0].add(0.1)) == pytest.approx(0.1)
    assert simplex_error(jnp.asarray([[1.3], [-0.3]])) == pytest.approx(0.3)

"""Derivatives of the edge flux: against differences, against an unrolled solve, and where air is clean."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import edges, has_nan, law_error, normwise, relative, seeds
from unmixnet.physics import maxwell_stefan
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux, flux, resistance

FORMS = ("exact", "direct", "ideal", "weighted", "regularised", "fick", "unconstrained")


def symmetric_flux(args):
    """The flux as a function of the symmetric part of D, which is all that the law admits."""
    law, *rest = args
    return edge_flux(eqx.tree_at(lambda m: m.D, law, 0.5 * (law.D + law.D.T)), *rest)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("odorants", [0.3, 1e-6])
def test_the_derivative_of_the_flux_is_its_difference_quotient(form, odorants):
    assert law_error(symmetric_flux, edges(11, 5, odorants, E=3, form=form)) <= 1e-6


def test_twin_a_frozen_operator_has_the_wrong_derivative(monkeypatch):
    monkeypatch.setattr(maxwell_stefan, "flux", lambda x, b, R: flux(jax.lax.stop_gradient(x), b, R))
    assert law_error(lambda args: symmetric_flux(args), edges(11, 5, 0.3, E=3)) > 1e-3


def unrolled(x, b, R):
    """The same flux by plain Jacobi sweeps, differentiated through every sweep."""
    R = 0.5 * (R + R.T)
    m = R @ x

    def sweep(J, _):
        J = (b + x * (R @ J)) / m
        return J - x * jnp.sum(J), None

    return jax.lax.scan(sweep, b / m, None, length=400)[0]


def dense(x, b, R):
    """The same flux by a dense solve, differentiated by jax through the factorisation."""
    R = 0.5 * (R + R.T)
    A = jnp.diag(R @ x) - x[:, None] * R + jnp.mean(R) * x[:, None]
    return jnp.linalg.solve(A, b)


def implicit(x, b, R):
    return flux(x, b, 0.5 * (R + R.T))[0]


@jax.jit
def jacobians(x, b, R):
    every = (0, 1, 2)
    return (
        jax.jacrev(implicit, every)(x, b, R),
        jax.jacfwd(implicit, every)(x, b, R),
        jax.jacrev(dense, every)(x, b, R),
        jax.jacfwd(unrolled, 2)(x, b, R),
    )


def one_edge(seed: int, odorants: float):
    law, tail, head, c, length = edges(seed, 5, odorants, E=1)
    g = maxwell_stefan.gradient(tail[:, 0], head[:, 0], length[0])
    return 0.5 * (tail[:, 0] + head[:, 0]), -c[0] * g, resistance(law.D)


@given(seed=seeds, odorants=st.sampled_from([0.5, 1e-2, 1e-6]))
def test_the_implicit_derivative_equals_the_unrolled_and_the_dense_one(seed, odorants):
    reverse, forward, through_lu, through_sweeps = jacobians(*one_edge(seed, odorants))
    for found, other, expected in zip(reverse, forward, through_lu, strict=True):
        assert normwise(found, expected) <= 1e-9
        assert normwise(other, expected) <= 1e-9
    assert normwise(reverse[2], through_sweeps) <= 1e-8


@jax.jit
def sensitivity_in_clean_air(law, x_head, c, length):
    air = jnp.zeros_like(x_head).at[0].set(1)
    return jax.jacrev(lambda head: edge_flux(law, air, head, c, length)[0])(x_head), jax.jacfwd(
        lambda head: edge_flux(law, air, head, c, length)[0]
    )(x_head)


@given(seed=seeds)
def test_in_clean_air_the_flux_derivative_is_that_of_fick(seed):
    law, _, head, c, length = edges(seed, 5, 0.1, E=3)
    air = jnp.zeros_like(head).at[0].set(1)
    for jacobian in sensitivity_in_clean_air(law, air, c, length):
        assert not has_nan(jacobian)
        for e in range(3):
            slope = -c[e] * law.scale[e] * law.D[0, 1:] / length[e]
            found = jacobian[1:, e, 1:, e]
            assert relative(np.diag(found), slope) <= 1e-12
            assert np.max(np.abs(found - np.diag(np.diag(found)))) <= 1e-12 * np.max(np.abs(slope))


@given(seed=seeds)
def test_in_clean_air_the_derivative_is_the_one_sided_difference(seed):
    law, _, head, c, length = edges(seed, 5, 0.1, E=3)
    air = jnp.zeros_like(head).at[0].set(1)
    towards = head - air
    h = 1e-4
    f0, f1, f2, f3 = (weighed_from_air(law, air + k * h * towards, c, length) for k in range(4))
    difference = (-11 * f0 + 18 * f1 - 9 * f2 + 2 * f3) / (6 * h)
    slope = jnp.sum(slope_from_air(law, air, c, length) * towards)
    assert slope == pytest.approx(float(difference), rel=1e-6)
    assert slope != 0


@jax.jit
def weighed_from_air(law, head, c, length):
    weights = jnp.asarray(np.random.default_rng(0).normal(size=head.shape[::-1]).T)
    air = jnp.zeros_like(head).at[0].set(1)
    return jnp.sum(weights * edge_flux(law, air, head, c, length)[0]) * 1e3


slope_from_air = jax.jit(jax.grad(weighed_from_air, argnums=1))


@pytest.mark.parametrize("size", [1e-30, 1e-160, 1e-300, 0.0])
def test_a_vanishing_cotangent_gives_a_vanishing_derivative_without_nan(size):
    x, b, R = one_edge(1, 0.3)
    _, pull = jax.vjp(lambda *a: flux(*a)[0], x, b, R)
    cotangent = jnp.asarray(np.random.default_rng(0).normal(size=5))
    expected, found = pull(cotangent), pull(size * cotangent)
    assert not has_nan(found)
    if size > 1e-200:
        assert normwise(found[0] / size, expected[0]) <= 1e-9


def loss(args):
    weights = np.random.default_rng(0).normal(size=args[1].shape[::-1]).T
    return jnp.sum(edge_flux(*args)[0] * weights.astype(args[1].dtype))


def test_single_precision_derivatives_agree_with_double():
    law, *rest = edges(4, 13, 1e-3, E=3)
    single = jax.tree.map(lambda a: a.astype(jnp.float32), (law, *rest))
    slope, slope32 = (jax.jit(jax.grad(loss))(args)[0].D for args in ((law, *rest), single))
    assert slope32.dtype == jnp.float32
    assert normwise(slope32, slope) <= 1e-3


def test_one_matrix_per_edge_has_the_same_derivative_as_the_shared_matrix():
    law, *rest = edges(9, 5, 0.3, E=3)

    def total(D, shared):
        matrix = D if shared else jnp.broadcast_to(D[..., None], (5, 5, 3))
        return loss((MaxwellStefan(matrix, law.scale), *rest))

    assert normwise(jax.grad(total)(law.D, True), jax.grad(total)(law.D, False)) <= 1e-9

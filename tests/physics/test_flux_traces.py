"""The edge flux at trace concentrations, component by component, and the published forms beside it."""

import equinox as eqx
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import edges, float32, normwise, relative, seeds
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux

solve = eqx.filter_jit(edge_flux)
steep = st.floats(2, 50)


def in_fifty_digits(law, tail, head, c, length, e: int = 0) -> np.ndarray:
    """Flux of edge e by a dense solve in 50 digits, from the very numbers that the float solver is given."""
    with mpmath.workdps(50):
        tail, head = ([mpmath.mpf(float(v)) for v in x[:, e]] for x in (tail, head))
        S, c, length = len(tail), mpmath.mpf(float(c[e])), mpmath.mpf(float(length[e]))
        R = [[0 if i == j else 1 / mpmath.mpf(float(law.D[i, j])) for j in range(S)] for i in range(S)]
        x = [(a + b) / 2 for a, b in zip(tail, head, strict=True)]
        g = [(b - a) / length for a, b in zip(tail, head, strict=True)]
        g[0] = -sum(g[1:])
        A = mpmath.matrix(S, S)
        for i in range(S):
            A[i, i] = sum(R[i][j] * x[j] for j in range(S))
            for j in range(S):
                A[i, j] += x[i] * (R[0][1] - R[i][j])
        J = mpmath.lu_solve(A, mpmath.matrix([-c * gi for gi in g]))
        return np.array([float(mpmath.mpf(float(law.scale[e])) * v) for v in J])


def with_traces(seed: int, S: int, fraction: float, **options):
    """Edges where every second odorant is a trace of about `fraction` and the others are plenty."""
    law, tail, head, c, length = edges(seed, S, 0.5, E=3, **options)
    scale = jnp.where(jnp.arange(S - 1) % 2 == 0, fraction * (S - 1), 1)[:, None]
    odorants = [x[1:] * scale for x in (tail, head)]
    tail, head = (jnp.concatenate([1 - x.sum(0, keepdims=True), x]) for x in odorants)
    return law, tail, head, c, length


@pytest.mark.parametrize("form", ["exact", "direct"])
@pytest.mark.parametrize(("S", "fraction"), [(13, 1e-9), (13, 1e-20), (51, 1e-20)])
def test_traces_agree_with_fifty_digits_component_by_component(form, S, fraction):
    arguments = with_traces(5, S, fraction, form=form)
    J, _ = solve(*arguments)
    assert relative(J[:, 0], in_fifty_digits(*arguments)) <= 1e-12


def test_twin_a_swapped_digit_of_one_diffusivity_is_seen():
    law, *rest = with_traces(5, 13, 1e-9)
    expected = in_fifty_digits(law, *rest)
    wrong = law.D.at[0, 3].multiply(1.68 / 1.86).at[3, 0].multiply(1.68 / 1.86)
    J, _ = solve(eqx.tree_at(lambda m: m.D, law, wrong), *rest)
    assert relative(J[:, 0], expected) > 1e-2


def single_precision_error(seed: int, fraction: float, form: str, unit: float, spread: float = 10.0) -> float:
    """Largest error of a float32 flux; `unit` is 1 for D in m²/s and 1e4 for D in cm²/s."""
    law, *rest = with_traces(seed, 13, fraction, spread=spread)
    arguments = float32((MaxwellStefan(law.D * unit, law.scale, form=form), *rest))
    J, _ = solve(*arguments)
    assert J.dtype == jnp.float32
    double = [a.astype(jnp.float64) for a in arguments[1:]]
    exact = MaxwellStefan(arguments[0].D.astype(jnp.float64), arguments[0].scale.astype(jnp.float64))
    return relative(J, solve(exact, *double)[0])


@pytest.mark.parametrize("fraction", [1e-6, 1e-9])
@given(seed=seeds, spread=steep, unit=st.sampled_from([1.0, 1e4]))
def test_single_precision_keeps_trace_fluxes(fraction, seed, spread, unit):
    assert single_precision_error(seed, fraction, "exact", unit, spread) <= 1e-3


@pytest.mark.parametrize("fraction", [1e-6, 1e-9])
def test_twin_the_bordered_system_loses_trace_fluxes_in_single_precision(fraction):
    # in SI units its pivots happen to fall well; with D of order one they do not
    errors = [single_precision_error(seed, fraction, "ideal", 1e4) for seed in range(10)]
    assert np.median(errors) > 1e-2


def published_error(form: str, odorants: float, **options) -> float:
    law, *rest = edges(7, 13, odorants, form=form, **options)
    exact = MaxwellStefan(law.D, law.scale)
    return normwise(solve(law, *rest)[0], solve(exact, *rest)[0])


def test_the_ideal_projection_is_the_exact_flux_in_double_precision():
    assert published_error("ideal", 0.1) <= 1e-10


@pytest.mark.parametrize(("form", "option"), [("weighted", "mu"), ("regularised", "epsilon")])
def test_the_published_forms_converge_to_the_exact_one(form, option):
    # R is about 1e5 s/m², so the printed μ and ε act on an operator of that size squared and of that size
    sizes = np.array([1e2, 1e0, 1e-2, 1e-4])
    errors = [published_error(form, 0.1, **{option: float(size)}) for size in sizes]
    slope = np.polyfit(np.log(sizes[1:]), np.log(errors[1:]), 1)[0]
    assert errors[-1] < 1e-3
    assert slope == pytest.approx(1, abs=0.2)


def in_scaled_units(odorants: float, mu: float) -> float:
    """Error of the printed projection with D and c̄ of order one, where μ = 1e-6 looks harmless."""
    law, tail, head, c, length = edges(7, 13, odorants)
    c = jnp.ones_like(c)
    unit = MaxwellStefan(law.D * 1e4, law.scale, form="weighted", mu=mu)
    exact = MaxwellStefan(law.D * 1e4, law.scale)
    found, expected = (solve(m, tail, head, c, length)[0] for m in (unit, exact))
    return normwise(found[1:], expected[1:])


@pytest.mark.parametrize(("odorants", "least", "most"), [(1e-1, 1e-4, 0.1), (1e-3, 0.5, 1), (1e-6, 0.999, 1)])
def test_the_printed_projection_wipes_out_traces(odorants, least, most):
    assert least <= in_scaled_units(odorants, 1e-6) <= most


@given(seed=seeds)
def test_a_prior_equal_to_the_answer_is_the_answer_at_any_mu(seed):
    law, *rest = edges(seed, 13, 0.1, form="weighted", mu=1e3)
    J, _ = solve(MaxwellStefan(law.D, law.scale), *rest)
    w = J / law.scale / (0.5 * (rest[0] + rest[1]))
    informed = eqx.tree_at(lambda m: m.prior, law, w, is_leaf=lambda leaf: leaf is None)
    assert normwise(solve(informed, *rest)[0], J) <= 1e-8
    assert normwise(solve(law, *rest)[0], J) > 1e-6

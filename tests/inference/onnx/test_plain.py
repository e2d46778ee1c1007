"""A function as plain operations is the same function, and as accurate where a runtime's own functions are not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.inference.onnx import plain as rules
from unmixnet.inference.onnx.plain import ExportError, plain
from unmixnet.physics.adsorption import coverage
from unmixnet.physics.maxwell_stefan import MaxwellStefan, edge_flux

RNG = np.random.default_rng(0)


def like(*arrays: np.ndarray | jax.Array) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]


def operations(f, *arrays: np.ndarray | jax.Array) -> str:
    return str(jax.make_jaxpr(plain(f, *like(*arrays)))(*arrays))


def fluxes(x_tail, x_head):
    i = np.arange(4)
    law = MaxwellStefan(jnp.asarray(1e-5 * (1 + i[:, None] + i)), jnp.ones(3))
    return edge_flux(law, x_tail, x_head, jnp.full(3, 40.0), jnp.full(3, 0.02))


def compositions() -> tuple[jax.Array, jax.Array]:
    x = jnp.asarray(RNG.dirichlet(np.ones(4), 6).T)
    return x[:, :3], x[:, 3:]


def test_fluxes_are_those_of_the_solver_without_its_derivative_or_its_calls():
    given = compositions()
    for found, expected in zip(plain(fluxes, *like(*given))(*given), fluxes(*given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    left = operations(fluxes, *given)
    assert "while" in left and not any(name in left for name in ("custom_linear_solve", "jit", "lu", "pivot"))


def test_coverage_needs_no_complex_numbers():
    def covered(theta, lam, delta):
        return (coverage(theta, lam, delta, jnp.asarray(1.0)),)

    drawn = RNG.dirichlet(np.ones(4)), RNG.uniform(0, 3, 3), RNG.uniform(0.1, 1, 3)
    given = [jnp.asarray(one) for one in drawn]
    np.testing.assert_allclose(plain(covered, *like(*given))(*given), covered(*given), rtol=1e-12)
    left = operations(covered, *given)
    assert "complex" not in left and "c128" not in left


def test_a_loop_in_time_stays_a_loop():
    def walk(x):
        return jax.lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c), jax.nn.gelu(c))), x, None, length=7)

    x = RNG.normal(size=5)
    for found, expected in zip(plain(walk, *like(x))(x), walk(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert operations(walk, x).count("scan[") == 1


def test_what_the_input_does_not_enter_is_computed_once():
    W = RNG.normal(size=(3, 3))
    assert "exp" not in operations(lambda x: (x @ jnp.exp(jnp.asarray(W)),), np.ones(3))


FUNCTIONS = {
    "log1p": (jnp.log1p, np.log1p, np.geomspace(1e-12, 1e3, 60)),
    "expm1": (jnp.expm1, np.expm1, np.concatenate([-np.geomspace(1e-12, 30, 40), np.geomspace(1e-12, 30, 40)])),
    "logistic": (jax.nn.sigmoid, lambda x: 1 / (1 + np.exp(-x)), np.linspace(-80, 80, 61)),
    "log_sigmoid": (jax.nn.log_sigmoid, lambda x: -np.logaddexp(0, -x), np.linspace(-80, 15, 61)),
}


def relative_error(name: str) -> float:
    f, exact, x = FUNCTIONS[name]
    single = x.astype(np.float32)
    (found,) = plain(lambda x: (f(x),), *like(single))(single)
    expected = exact(single.astype(float))
    return float(np.max(np.abs(np.asarray(found, float) / expected - 1)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_and_large_arguments_keep_their_relative_accuracy(name):
    assert relative_error(name) < 1e-6


def test_twin_the_textbook_logarithm_loses_small_arguments(monkeypatch):
    monkeypatch.setitem(rules._RULES, "log1p", lambda _, given: [jnp.log(1 + given[0])])
    assert relative_error("log1p") > 1e-2


def test_a_dense_solve_is_refused_by_name():
    with pytest.raises(ExportError, match=r"factorises dense matrices.*Export the encoder alone"):
        plain(lambda b: (jnp.linalg.solve(jnp.eye(3) + b, b),), *like(np.ones(3)))

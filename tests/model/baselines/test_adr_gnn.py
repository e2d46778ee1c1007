"""Advection conserves, its weights are normalised at the sender, and diffusion is the implicit solve."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.model.baselines.adr_gnn import ADRGNN, Layer, advect, diffuse, recent

from .cases import batch_answer, model, quick_jit, windows

C, E, NODES, STEP = 8, 5, 6, 0.25


@pytest.fixture(scope="module")
def case():
    layer = quick_jit(lambda key: Layer(C, E, key=key))(jax.random.key(0))
    U, g = jnp.asarray(np.random.default_rng(0).normal(0, 3, (2, NODES, C)))
    return layer, U, g


def test_outgoing_weights_of_every_sender_sum_to_one(case):
    layer, _, g = case
    V = layer.velocity(g)
    np.testing.assert_allclose(V.sum(axis=1), 1, rtol=1e-14)
    assert np.all(V > 0)
    # Twin: the sums over senders, which a softmax along the other axis would fix, are free.
    assert np.max(np.abs(V.sum(axis=0) - 1)) > 1e-3


def test_weights_follow_the_formula_edge_by_edge(case):
    layer, _, g = case

    def z(i, j):
        return layer.A_3(jax.nn.relu(layer.A_1(g[i]) + layer.A_2(g[j])))

    logits = jnp.stack([layer.A_4(jax.nn.relu(z(1, j) - z(j, 1))) for j in range(NODES)])
    np.testing.assert_allclose(layer.velocity(g)[1], jax.nn.softmax(logits, axis=0), rtol=1e-12)


def test_advection_conserves_every_channel_and_moves_something(case):
    layer, U, g = case
    moved = advect(U, layer.velocity(g), STEP)
    np.testing.assert_allclose(moved.sum(axis=0), U.sum(axis=0), rtol=0, atol=1e-13 * np.abs(U).sum())
    assert np.max(np.abs(moved - U)) > 0.1


def test_advection_normalised_at_the_receiver_would_not_conserve(case):
    layer, U, g = case
    incoming = jnp.swapaxes(layer.velocity(g), 0, 1)
    defect = advect(U, incoming, STEP)
    assert np.max(np.abs(defect.sum(axis=0) - U.sum(axis=0))) > 1e-3


def test_advection_does_not_grow_in_total_magnitude(case):
    layer, U, g = case
    assert np.all(np.abs(advect(U, layer.velocity(g), 1.0)).sum(axis=0) <= np.abs(U).sum(axis=0) * (1 + 1e-14))


def test_diffusion_is_the_implicit_solve_on_the_complete_graph(case):
    _, U, _ = case
    kappa = jnp.linspace(0, 1, C)
    laplacian = np.eye(NODES) - np.full((NODES, NODES), 1 / NODES)
    solved = [np.linalg.solve(np.eye(NODES) + STEP * float(k) * laplacian, U[:, i]) for i, k in enumerate(kappa)]
    np.testing.assert_allclose(diffuse(U, kappa, STEP), np.stack(solved, axis=1), rtol=1e-12, atol=1e-13)


def test_recent_mean_looks_back_only():
    Y = windows()[0]
    np.testing.assert_allclose(recent(Y)[3], Y[:4].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(recent(Y)[30], Y[21:31].mean(axis=0), rtol=1e-12)


def test_logits_read_the_last_hidden_state():
    answer, net = batch_answer("adr-gnn"), model("adr-gnn")
    assert isinstance(net, ADRGNN)
    np.testing.assert_allclose(jax.vmap(net.W)(answer.hidden[:, -1]), answer.logits, rtol=1e-9, atol=1e-9)

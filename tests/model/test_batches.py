"""Many windows solved at once are those windows solved one by one, with their axis where the laws expect it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unmixnet.model.batches import samples_first

from .tiny import K, M, T, inference, model, quick_jit, ratios, windows

B = 3
SAVE = ("N", "J", "theta", "y", "closure")
KINDS = {
    "exposed": {"start": "exposed"},
    "inferred start and place": {"start": "inferred", "source": "inferred", "release": "rise-decay"},
    "scores, a D of every edge": {"flow": "scores", "edgewise": True},
}


def inferences():
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(inference, range(B)))


@quick_jit
def together(model, inference, Y, a):
    return samples_first(model.reconstruct_all(inference, Y[:, 0], T, shares=a, save=SAVE).rollout, B)


@quick_jit
def one_by_one(model, inference, Y, a):
    return jax.vmap(lambda i, y, a: model.reconstruct(i, y[0], T, shares=a, save=SAVE).rollout)(inference, Y, a)


def same(found, expected) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(found):
        other = np.asarray(dict(jax.tree_util.tree_leaves_with_path(expected))[path])
        assert leaf.shape == other.shape, path
        np.testing.assert_allclose(leaf, other, rtol=1e-9, atol=1e-12 * max(1e-3, np.max(np.abs(other))))


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_many_windows_at_once_are_the_windows_one_by_one(settings):
    drawn, Y, a = model(**settings), windows(B), ratios(B)
    found = together(drawn, inferences(), Y, a)
    same(found, one_by_one(drawn, inferences(), Y, a))
    assert found.saved.y.shape == (B, (T - 1) // 2, M)
    assert found.saved.theta.shape == (B, (T - 1) // 2, K + 1, M)


def test_what_all_windows_share_needs_no_axis_of_samples():
    drawn, Y, a = model(start="exposed"), windows(B), ratios(B)
    typical, strength = drawn.uninformed(), jnp.asarray([-0.5, 0.0, 0.5])
    shared = eqx.tree_at(lambda i: i.log_strength, typical, strength)
    repeated = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (B, *leaf.shape)), typical)
    same(
        together(drawn, shared, Y, a),
        one_by_one(drawn, eqx.tree_at(lambda i: i.log_strength, repeated, strength), Y, a),
    )

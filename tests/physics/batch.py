"""Samples side by side: one batch, along the last axis of its arrays, from problems that were made one by one."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from unmixnet.physics.state import is_shared, with_samples

Tree = TypeVar("Tree")


def side_by_side(*samples: Tree) -> Tree:
    """A batch of samples of the same shapes; what a batch shares by its meaning is that of the first."""

    def join(path, first, *others):
        if not eqx.is_inexact_array(first) or is_shared(path, first):
            return first
        return jnp.concatenate([first, *others], axis=-1)

    return jax.tree_util.tree_map_with_path(join, *map(with_samples, samples))

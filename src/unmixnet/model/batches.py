"""From one sample to many: what is made for each sample, with the axis of samples where the laws expect it."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from unmixnet.physics.state import is_shared, with_samples

__all__ = ["made_for_each", "samples_first"]

Made = TypeVar("Made")


def made_for_each(make: Callable[..., Made], *given: Any, in_axes: tuple[Any, ...] | int = 0) -> Made:
    """`make` of every sample as one batch, samples last; diffusivities and times must be the same for all samples.

    Arguments:
        make: from what belongs to one sample to a process, a state, or both.
        in_axes: 0 for what has a first axis of samples, None for what they share, as of `jax.vmap`.
    """

    def parted(*given: Any) -> tuple[Any, Any]:
        made = make(*given)
        return eqx.partition(made, jax.tree_util.tree_map_with_path(_is_common, made))

    common, own = jax.vmap(parted, in_axes, out_axes=(None, -1))(*given)
    return eqx.combine(with_samples(common), own)


def _is_common(path: tuple[Any, ...], leaf: jax.Array) -> bool:
    """Whether samples have it in common: by its meaning, or as a table of diffusivities, by far the largest array."""
    return is_shared(path, leaf) or (bool(path) and getattr(path[-1], "name", None) == "D")


def samples_first(tree: Made, B: int) -> Made:
    """A result of B samples with their axis in front of all others; what they share is repeated."""

    def moved(leaf: jax.Array) -> jax.Array:
        return jnp.broadcast_to(leaf, (B,)) if leaf.ndim == 0 else jnp.moveaxis(leaf, -1, 0)

    return jax.tree.map(moved, tree)

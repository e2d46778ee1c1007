"""What every loss has to do: push the right way, and stay finite. Pass functions of a module: programs are kept."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.cache
def compiled(loss, count: int):
    return jax.jit(jax.value_and_grad(loss, tuple(range(count))))


def value_and_slope(loss, at, *given):
    """A loss and its derivative by its first argument."""
    value, (slope,) = compiled(loss, 1)(at, *given)
    return value, slope


def descent(loss, at, *given, share: float = 1e-3) -> float:
    """How much one small gradient step lowers the loss, as a share of what its slope promises: 1 for a smooth loss."""
    value, slope = value_and_slope(loss, at, *given)
    steepness = sum(float(np.sum(np.square(leaf))) for leaf in jax.tree.leaves(slope))
    assert steepness > 0, "the loss is flat: it pushes nowhere"
    rate = share * float(value) / steepness
    moved = jax.tree.map(lambda leaf, by: leaf - rate * by, at, slope)
    return (float(value) - float(value_and_slope(loss, moved, *given)[0])) / (share * float(value))


def is_finite(loss, *arguments) -> bool:
    """Whether a loss and its derivative by every argument are finite, in double and in single precision."""
    found = []
    for dtype in (np.float64, np.float32):
        given = jax.tree.map(lambda leaf, dtype=dtype: jnp.asarray(np.asarray(leaf, dtype)), arguments)
        with jax.numpy_dtype_promotion("strict"):
            answer = jax.tree.leaves(compiled(loss, len(arguments))(*given))
        assert all(leaf.dtype == dtype for leaf in answer)
        found += answer
    return all(bool(np.all(np.isfinite(leaf))) for leaf in found)

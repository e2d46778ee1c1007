"""The study of cells and steps: its recipes, and that finer cells come nearer to the converged solution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from studies.bench import cells
from unmixnet.simulation.simulated_nose import Setting


def test_recipes_are_shares():
    shares = cells.recipes()
    assert shares.shape == (10, 12) and np.allclose(shares.sum(axis=1), 1)


@pytest.mark.soak
def test_twice_the_cells_are_nearer_to_four_times_as_many():
    """With the limited slopes; with the sensor of the first order, half a sub-cell off, they are not."""
    shares = jnp.asarray(cells.recipes()[:2].T)
    with jax.enable_x64(True):
        coarse, finer, finest = (solved(shares, parts, cells.SCHEMES[2]) for parts in (1, 2, 4))
        beside = solved(shares, 2, cells.Scheme("slopes, not centred", 2, slopes=True, centred=False))
    far, near, off = (np.sqrt(np.mean((y - finest) ** 2)) / np.std(finest) for y in (coarse, finer, beside))
    assert near < 0.6 * far and near < 0.6 * off


def solved(shares, parts: int, scheme: cells.Scheme) -> np.ndarray:
    run, _ = cells._program(Setting(), parts, scheme, 1.0)
    y, status = run(shares)
    assert int(np.max(status)) == 0
    return np.asarray(y)

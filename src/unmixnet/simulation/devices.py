r"""A batch over several devices: each takes its share of the samples, and they never wait for each other.

    f over (B, …)  =  f over (B/d, …) on each of d devices

`shard_map` rather than sharding by annotation: a solve has loops that stop when the slowest sample of the *batch* has
converged, and each device should wait only for its own samples.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

__all__ = ["over_devices"]

_AXIS = "batch"


def over_devices(f: Callable[..., PyTree], devices: Sequence[Any] | None = None) -> Callable[..., PyTree]:
    """A function of (shared, batch) that gives what `f(shared, batch)` gives, computed on all devices.

    Arguments:
        f: over pytrees; the first axis of every leaf of `batch` and of the result is the batch. Each sample has to be
            computed by itself, as under `vmap`.
        devices: all that jax knows, if not given.

    A batch that does not divide by the number of devices is filled up with copies of its last sample.
    """
    devices = list(devices or jax.devices())
    mesh = Mesh(np.array(devices), (_AXIS,))
    split, whole = PartitionSpec(_AXIS), PartitionSpec()
    program = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(whole, split), out_specs=split, check_vma=False))

    def run(shared: PyTree, batch: PyTree) -> PyTree:
        n = jax.tree.leaves(batch)[0].shape[0]
        rows = np.minimum(np.arange(-(-n // len(devices)) * len(devices)), n - 1)
        shared = jax.device_put(shared, NamedSharding(mesh, whole))
        batch = jax.tree.map(lambda leaf: jax.device_put(jnp.asarray(leaf)[rows], NamedSharding(mesh, split)), batch)
        out = program(shared, batch)
        return out if len(rows) == n else jax.tree.map(lambda leaf: leaf[:n], out)

    return run

"""A batch over four host devices and over one, in a process of its own: prints what came out as JSON.

python sharded.py flux|rollout BATCH
"""

import json
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unmixnet.physics.maxwell_stefan import edge_flux
from unmixnet.physics.rollout import rollout
from unmixnet.physics.state import clean_air
from unmixnet.simulation.builders import chain
from unmixnet.simulation.devices import over_devices
from unmixnet.simulation.validation.synthetic_problem import made_up_process


def flux(arrays, static, geometry, amount):
    """Maxwell–Stefan fluxes of all edges: a loop that stops when the slowest of the batch has converged."""
    law = eqx.combine(arrays, static).diffusion
    x = jnp.concatenate([1 - amount.sum(keepdims=True), amount])
    E = geometry.length.shape[0]
    tail, head = (jnp.broadcast_to(side[:, None], (4, E)) for side in (x, x[::-1]))
    return edge_flux(law, tail, head, jnp.full(E, 40.0), geometry.length)[0]


def whole(arrays, static, geometry, amount):
    """Readout of a rollout."""
    p = eqx.combine(arrays, static)
    p = eqx.tree_at(lambda p: p.source.amount, p, amount * p.source.amount)
    return rollout(p, geometry, clean_air(p, geometry), jnp.asarray(0.5), 20).saved.y


def measured(name: str, batch: int) -> dict:
    jax.config.update("jax_enable_x64", True)
    chamber = chain(4, sensors=2)
    geometry = chamber.geometry()
    arrays, static = eqx.partition(made_up_process(chamber, 3), eqx.is_array)
    law = {"flux": flux, "rollout": whole}[name]
    forward = jax.vmap(lambda arrays, amount: law(arrays, static, geometry, amount), in_axes=(None, 0))
    amounts = jnp.asarray(np.random.default_rng(0).uniform(0.01, 0.3, (batch, 3)))
    one, four = jax.jit(forward)(arrays, amounts), over_devices(forward)(arrays, amounts)
    told = {
        "devices": len(jax.devices()),
        "shares": sorted(len(shard.data) for shard in four.addressable_shards),
        "shape": list(four.shape),
        "difference": float(jnp.max(jnp.abs(one - four)) / jnp.max(jnp.abs(one))),
        "spread": float(jnp.std(one, axis=0).max() / jnp.max(jnp.abs(one))),
    }
    if name == "rollout":
        slope, shared = (
            jax.grad(lambda a, f=f: jnp.sum(f(arrays, a) ** 2))(amounts) for f in (forward, over_devices(forward))
        )
        told["gradient"] = float(jnp.max(jnp.abs(slope - shared)) / jnp.max(jnp.abs(slope)))
    return told


if __name__ == "__main__":
    print(json.dumps([measured(sys.argv[1], int(batch)) for batch in sys.argv[2:]]))

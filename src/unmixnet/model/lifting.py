r"""Source-conditioned graph lifting: the state S⁰ = {N⁰, θ⁰, y⁰} from which the solver starts.

    clean air   N⁰ carrier only, θ⁰ empty, y⁰ the first sample
    exposed     c_i = ε q_i / Q in every cell, θ⁰ the stationary coverage at c, y⁰ the first sample

q_i is the release rate, Q the draught through the chamber and ε the exposure: 1 for the steady state, between 0 and 1
where the encoder infers it. In a chamber whose draught passes the source the steady state *is* uniform
downstream of it, so nothing has to be solved; SmellNet mixtures start with the odour already there.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from unmixnet.physics.conditions import air_concentration
from unmixnet.physics.geometry import Geometry
from unmixnet.physics.readout import target
from unmixnet.physics.state import Process, State, clean_air

__all__ = ["lift"]


def lift(
    process: Process,
    geometry: Geometry,
    first: Float[Array, " M"] | None,
    c: Float[Array, " K"] | None,
) -> State:
    """The start of a rollout: clean air, or a chamber with concentrations c [mol/m³].

    y⁰ is the first sample; without one the sensors start settled, at the target of their coverage.
    """
    state = clean_air(process, geometry)
    if c is None:
        return state if first is None else eqx.tree_at(lambda s: s.y, state, first)
    x = c / air_concentration(process.conditions)
    x = x / jnp.maximum(1, 2 * jnp.sum(x))
    composition = jnp.concatenate([1 - jnp.sum(x, keepdims=True), x])
    N = composition[:, None] * jnp.sum(state.N, axis=0)
    theta = process.surface.stationary(jnp.broadcast_to(c[:, None], (c.shape[0], state.y.shape[0])))
    y = target(theta, process.readout, process.conditions) if first is None else first
    return eqx.tree_at(lambda s: (s.N, s.theta, s.y), state, (N, theta, y))

r"""Advection coefficients: the chamber's own velocities times a bounded factor, or scores from an edge network.

u = u_chamber · e^{tanh f} · modulation(h_Y)                    (`velocities`)
α_{u→v,i} = MLP_A(h_u, h_v, h_uv, r_i),  κ = e^k                (`scores`)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from unmixnet.model.layers import N_CELL, N_EDGE, Modulation, dense
from unmixnet.model.settings import Settings, shape_of
from unmixnet.physics.advection import Scores, Velocities

__all__ = ["Flow"]


class Flow(eqx.Module):
    """Sets the flow."""

    factor: Float[Array, ""]
    modulation: Modulation
    edge: eqx.nn.Linear
    opening: eqx.nn.Linear
    species: eqx.nn.Linear
    score: eqx.nn.Linear
    log_rate: Float[Array, ""]
    """ln κ: about the rate at which the draught empties a cell."""

    @classmethod
    def of(cls, settings: Settings, key: PRNGKeyArray) -> "Flow":
        """Draw the networks."""
        shape = shape_of(settings.size)
        a, b, c, d, e = jax.random.split(key, 5)
        return cls(
            jnp.zeros(()),
            Modulation.of(shape.width, 1, settings.modulation, a),
            eqx.nn.Linear(N_EDGE, shape.hidden, key=b),
            eqx.nn.Linear(N_CELL, shape.hidden, key=c),
            eqx.nn.Linear(shape.embedding, shape.hidden, use_bias=False, key=d),
            eqx.nn.Linear(shape.hidden, 1, key=e),
            jnp.asarray(-1.0),
        )

    def velocities(self, chamber: Velocities, h_Y: Float[Array, " d"]) -> Velocities:
        """The chamber's flow, all of it faster or slower."""
        factor = jnp.exp(jnp.tanh(self.factor)) * self.modulation(h_Y)[0]
        return jax.tree.map(lambda flow: flow * factor, chamber)

    def scores(
        self,
        chamber: Velocities,
        forward: Float[Array, "E f"],
        backward: Float[Array, "E f"],
        cells: Float[Array, "V g"],
        r: Float[Array, "S p"],
    ) -> Scores:
        """Scores of every direction, outlet and species; features of an edge are given for both directions."""
        V, S = cells.shape[0], r.shape[0]

        def scored(layer: eqx.nn.Linear, h: Float[Array, "n f"]) -> Float[Array, "S n"]:
            hidden = jax.nn.gelu(dense(layer, h)[None] + dense(self.species, r)[:, None])
            return dense(self.score, hidden)[..., 0]

        outlet = jnp.where(chamber.outlet_flow > 0, scored(self.opening, cells), -jnp.inf)
        rate = jnp.broadcast_to(jnp.exp(self.log_rate), (S, V))
        return Scores(scored(self.edge, forward), scored(self.edge, backward), outlet, rate, chamber.inlet_flow)

"""The chamber as the laws see it: cell volumes, edge lengths and areas, connectivity."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

__all__ = ["Geometry"]


class Geometry(eqx.Module):
    """Finite-volume graph with V cells, E edges and M sensors.

    An edge runs from its tail to its head; a flux is positive in that direction. The incidence matrix is
    B[v, e] = −1 where e leaves v and +1 where e enters v, so that `divergence` is B·f.
    """

    volume: Float[Array, " V"]
    """Cell volume V [m³]."""
    length: Float[Array, " E"]
    """Distance between cell centres ℓ [m]."""
    area: Float[Array, " E"]
    """Interface area A [m²]."""
    tail: Int[Array, " E"]
    head: Int[Array, " E"]
    sensor_cell: Int[Array, " M"]
    """The cell v(m) whose gas each sensor samples."""
    fixed: Bool[Array, " V"]
    """Cells whose composition is held by the outside world."""

    def divergence(self, flow: Float[Array, "E S"]) -> Float[Array, "V S"]:
        """What each cell gains from oriented edge flows: B·flow."""
        gain = jnp.zeros((self.volume.shape[0], flow.shape[1]), flow.dtype)
        return gain.at[self.head].add(flow).at[self.tail].add(-flow)

    def departing(self, flow: Float[Array, "E S"]) -> Float[Array, "V S"]:
        """What each cell loses through all its edges, whichever way they are oriented."""
        loss = jnp.zeros((self.volume.shape[0], flow.shape[1]), flow.dtype)
        return loss.at[self.tail].add(jnp.maximum(flow, 0)).at[self.head].add(jnp.maximum(-flow, 0))

    def on_cells(self, per_sensor: Float[Array, "M S"]) -> Float[Array, "V S"]:
        """Sum a per-sensor quantity onto the cells of the sensors."""
        return (
            jnp.zeros((self.volume.shape[0], per_sensor.shape[1]), per_sensor.dtype)
            .at[self.sensor_cell]
            .add(per_sensor)
        )

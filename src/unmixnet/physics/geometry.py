"""The chamber as the laws see it: cell volumes, edge lengths and areas, connectivity."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

__all__ = ["Geometry"]

_DENSE = 1024
"""Up to so many cells times edges a product with the incidence matrix is faster than gathering."""
_PADDING = 4
"""A plan of gathers may be this many times as long as the edges have ends; a hub of many edges is scattered to."""


class Geometry(eqx.Module):
    """Finite-volume graph with V cells, E edges and M sensors.

    An edge runs from its tail to its head; a flux is positive in that direction. The incidence matrix is
    B[v, e] = −1 where e leaves v and +1 where e enters v, so that `divergence` is B·f.

    The laws take arrays whose first axis is the species, then cells, edges or sensors, then samples if there are any;
    for arrays with samples the sizes have a last axis of length one (`state.with_samples`).
    """

    volume: Float[Array, "V *#b"]
    """Cell volume V [m³]."""
    length: Float[Array, "E *#b"]
    """Distance between cell centres ℓ [m]."""
    area: Float[Array, "E *#b"]
    """Interface area A [m²]."""
    tail: Int[Array, " E"]
    head: Int[Array, " E"]
    sensor_cell: Int[Array, " M"]
    """The cell v(m) whose gas each sensor samples."""
    fixed: Bool[Array, "V *#b"]
    """Cells whose composition is held by the outside world."""
    beside: Int[Array, " M"] | None = None
    """A second cell of each sensor: one that sits between two cells samples the mean of both."""
    incident: Int[Array, "d V"] | None = None
    """Edges of each cell, filled up with edge 0 where a cell has fewer than d."""
    orientation: Float[Array, "d V *#b"] | None = None
    """B of these edges, 0 where filled up."""

    @staticmethod
    def of(volume, length, area, tail, head, sensor_cell, fixed, beside=None) -> "Geometry":
        """A geometry from NumPy arrays, in the current default floating type, with its plan of gathers."""
        incident, orientation = _plan(np.asarray(tail), np.asarray(head), len(volume))
        return Geometry(
            volume=jnp.asarray(volume, float),
            length=jnp.asarray(length, float),
            area=jnp.asarray(area, float),
            tail=jnp.asarray(tail, jnp.int32),
            head=jnp.asarray(head, jnp.int32),
            sensor_cell=jnp.asarray(sensor_cell, jnp.int32),
            fixed=jnp.asarray(fixed, bool),
            beside=None if beside is None else jnp.asarray(beside, jnp.int32),
            incident=None if incident is None else jnp.asarray(incident, jnp.int32),
            orientation=None if orientation is None else jnp.asarray(orientation, float),
        )

    @property
    def dense(self) -> bool:
        """Whether sums over edges are products with a small matrix."""
        return self.tail.shape[0] * self.volume.shape[0] <= _DENSE

    def ends(self, per_cell: Float[Array, "n V *B"]) -> tuple[Float[Array, "n E *B"], Float[Array, "n E *B"]]:
        """A quantity of the cells at the tail and at the head of every edge."""
        if not self.dense:
            return per_cell[:, self.tail], per_cell[:, self.head]
        both = _along_edges(jnp.concatenate([self._at(self.tail), self._at(self.head)], axis=1).T, per_cell)
        return both[:, : self.tail.shape[0]], both[:, self.tail.shape[0] :]

    def _at(self, cell: Int[Array, " E"]) -> Float[Array, "V E"]:
        """1 where an edge has this end."""
        return jnp.equal(jnp.arange(self.volume.shape[0], dtype=cell.dtype)[:, None], cell).astype(self.volume.dtype)

    def divergence(self, flow: Float[Array, "S E *B"]) -> Float[Array, "S V *B"]:
        """What each cell gains from oriented edge flows: B·flow."""
        if self.dense:
            return _along_edges(self._at(self.head) - self._at(self.tail), flow)
        if self.incident is None or self.orientation is None:
            gain = jnp.zeros((flow.shape[0], self.volume.shape[0], *flow.shape[2:]), flow.dtype)
            return gain.at[:, self.head].add(flow).at[:, self.tail].add(-flow)
        pairs = zip(self.orientation, self.incident, strict=True)
        return sum(sign * flow[:, edge] for sign, edge in pairs)  # pyright: ignore[reportReturnType]

    def arriving(self, ahead: Float[Array, "S E *B"], back: Float[Array, "S E *B"]) -> Float[Array, "S V *B"]:
        """What each cell receives of moles that go ahead (to the head) and back (to the tail) along the edges."""
        if self.dense:
            both = jnp.concatenate([self._at(self.head), self._at(self.tail)], axis=1)
            return _along_edges(both, jnp.concatenate(jnp.broadcast_arrays(ahead, back), axis=1))
        if self.incident is None or self.orientation is None:
            gain = jnp.zeros((ahead.shape[0], self.volume.shape[0], *ahead.shape[2:]), ahead.dtype)
            return gain.at[:, self.head].add(ahead).at[:, self.tail].add(back)
        pairs = zip(self.orientation, self.incident, strict=True)
        return sum(  # pyright: ignore[reportReturnType]
            jnp.where(sign > 0, ahead[:, edge], 0) + jnp.where(sign < 0, back[:, edge], 0) for sign, edge in pairs
        )

    def departing(self, flow: Float[Array, "S E *B"]) -> Float[Array, "S V *B"]:
        """What each cell loses through all its edges, whichever way they are oriented."""
        if self.incident is None or self.orientation is None:
            loss = jnp.zeros((flow.shape[0], self.volume.shape[0], *flow.shape[2:]), flow.dtype)
            return loss.at[:, self.tail].add(jnp.maximum(flow, 0)).at[:, self.head].add(jnp.maximum(-flow, 0))
        pairs = zip(self.orientation, self.incident, strict=True)
        return sum(jnp.maximum(-sign * flow[:, edge], 0) for sign, edge in pairs)  # pyright: ignore[reportReturnType]

    def at_sensors(self, per_cell: Float[Array, "n V *B"]) -> Float[Array, "n M *B"]:
        """What each sensor samples of a quantity of the cells."""
        here = per_cell[:, self.sensor_cell]
        return here if self.beside is None else 0.5 * (here + per_cell[:, self.beside])

    def least_at_sensors(self, per_cell: Float[Array, "n V *B"]) -> Float[Array, "n M *B"]:
        """The smallest value of a quantity among the cells of each sensor."""
        here = per_cell[:, self.sensor_cell]
        return here if self.beside is None else jnp.minimum(here, per_cell[:, self.beside])

    def on_cells(self, per_sensor: Float[Array, "n M *B"]) -> Float[Array, "n V *B"]:
        """Sum a quantity of the sensors onto the cells that they sample."""
        cells = jnp.zeros((per_sensor.shape[0], self.volume.shape[0], *per_sensor.shape[2:]), per_sensor.dtype)
        if self.beside is None:
            return cells.at[:, self.sensor_cell].add(per_sensor)
        half = 0.5 * per_sensor
        return cells.at[:, self.sensor_cell].add(half).at[:, self.beside].add(half)


def _along_edges(matrix: Float[Array, "a b"], values: Float[Array, "n b *B"]) -> Float[Array, "n a *B"]:
    """A matrix applied to the second axis."""
    if values.ndim == 2:
        return values @ matrix.T
    # one product for each species: XLA would transpose the values for a single one
    return jnp.broadcast_to(matrix, (values.shape[0], *matrix.shape)) @ values


def _plan(tail: np.ndarray, head: np.ndarray, V: int) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Edges of each cell and their orientation, so that a divergence gathers instead of scattering."""
    ends = [[] for _ in range(V)]
    for e, (a, b) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        ends[a].append((e, -1.0))
        ends[b].append((e, 1.0))
    most = max(map(len, ends))
    if most == 0 or most * V > _PADDING * (2 * len(tail) + V):
        return None, None
    edge, sign = np.zeros((most, V), np.int32), np.zeros((most, V))
    for v, own in enumerate(ends):
        for k, (e, s) in enumerate(own):
            edge[k, v], sign[k, v] = e, s
    return edge, sign

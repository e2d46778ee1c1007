"""The chamber: cells, edges, sensors and openings, checked when they are put together.

NumPy in, NumPy out; `Chamber.geometry()` and `.velocities()` are what the laws in `unmixnet.physics` see.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Literal, TypeGuard

import numpy as np

from unmixnet.errors import ChamberError

if TYPE_CHECKING:
    from unmixnet.physics.advection import Velocities
    from unmixnet.physics.geometry import Geometry

__all__ = ["KINDS", "Cell", "Chamber", "Edge", "Sensor", "check_positive", "is_number"]

Kind = Literal["source", "gas", "wall", "sensor", "outlet", "fixed"]
KINDS: tuple[Kind, ...] = ("source", "gas", "wall", "sensor", "outlet", "fixed")
_CONTINUITY = 1e-6
"""Largest imbalance of volume flow in a cell, relative to the flow through it."""


@dataclass(frozen=True)
class Cell:
    """A well-mixed volume of gas.

    >>> import unmixnet as um
    >>> um.Cell("jar", volume_m3=1e-4, kind="source").kind
    'source'
    """

    name: str
    volume_m3: float
    kind: Kind = "gas"
    inlet_m3_s: float = 0.0
    """Volume flow that enters the chamber here."""
    outlet_m3_s: float = 0.0
    """Volume flow that leaves the chamber here."""


@dataclass(frozen=True)
class Edge:
    """An interface between two cells; flows and fluxes are positive from tail to head.

    >>> import unmixnet as um
    >>> um.Edge("jar", "nose", length_m=0.05, area_m2=1e-4).velocity_m_s
    0.0
    """

    tail: str
    head: str
    length_m: float
    area_m2: float
    velocity_m_s: float = 0.0


@dataclass(frozen=True)
class Sensor:
    """A sensor and the cell that it breathes.

    >>> import unmixnet as um
    >>> um.Sensor("MOX1", cell="nose").cell
    'nose'
    """

    name: str
    cell: str
    beside: str | None = None
    """A second cell: a sensor between two cells breathes the mean of both."""


@dataclass(frozen=True)
class Chamber:
    """Cells, edges and sensors that fit together.

    Construction refuses what cannot exist (disconnected parts, non-positive sizes, dangling sensors, flows that violate
    continuity) with the place and the remedy.

    >>> import unmixnet as um
    >>> cells = (um.Cell("jar", 1e-4, "source"), um.Cell("nose", 2e-5, "sensor"))
    >>> pipe = um.Edge("jar", "nose", length_m=0.05, area_m2=1e-4)
    >>> um.Chamber(cells, (pipe,), (um.Sensor("MOX1", "nose"),)).volume_m3
    array([1.e-04, 2.e-05])
    >>> um.Chamber(cells, (), ())
    Traceback (most recent call last):
    unmixnet.errors.ChamberError: ...
    """

    cells: tuple[Cell, ...]
    edges: tuple[Edge, ...]
    sensors: tuple[Sensor, ...]
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, kind in (("cells", Cell), ("edges", Edge), ("sensors", Sensor)):
            object.__setattr__(self, name, _parts(getattr(self, name), kind, name))
        _check_cells(self.cells)
        object.__setattr__(self, "index", {cell.name: i for i, cell in enumerate(self.cells)})
        _check_edges(self.edges, self.index)
        _check_sensors(self.sensors, self.index)
        _check_connected(self)
        _check_continuity(self)

    @property
    def volume_m3(self) -> np.ndarray:
        """Volume of each cell."""
        return np.array([cell.volume_m3 for cell in self.cells])

    @property
    def tail(self) -> np.ndarray:
        """Index of the cell that each edge leaves."""
        return np.array([self.index[edge.tail] for edge in self.edges], dtype=np.int32)

    @property
    def head(self) -> np.ndarray:
        """Index of the cell that each edge enters."""
        return np.array([self.index[edge.head] for edge in self.edges], dtype=np.int32)

    @property
    def flow_m3_s(self) -> np.ndarray:
        """Volume flow along each edge."""
        return np.array([edge.velocity_m_s * edge.area_m2 for edge in self.edges])

    @property
    def incidence(self) -> np.ndarray:
        """B, cells × edges: −1 where an edge leaves, +1 where it enters."""
        B = np.zeros((len(self.cells), len(self.edges)))
        B[self.tail, np.arange(len(self.edges))] -= 1
        B[self.head, np.arange(len(self.edges))] += 1
        return B

    def cells_of(self, *kinds: Kind) -> np.ndarray:
        """Indices of the cells of these kinds."""
        return np.array([i for i, cell in enumerate(self.cells) if cell.kind in kinds], dtype=np.int32)

    def cfl(self, dt_s: float) -> float:
        """Largest share of a cell's gas that the flows carry away in one step; above one, substeps are needed."""
        flow = self.flow_m3_s
        leaving = np.array([cell.outlet_m3_s for cell in self.cells])
        np.add.at(leaving, self.tail, np.maximum(flow, 0))
        np.add.at(leaving, self.head, np.maximum(-flow, 0))
        return float(np.max(dt_s * leaving / self.volume_m3))

    def diffusion_number(self, dt_s: float, D_max_m2_s: float) -> float:
        """Largest Δt Σ A D/(ℓ V) of a cell that is not held fixed; above one half, substeps are needed."""
        conductance = np.array([edge.area_m2 / edge.length_m for edge in self.edges])
        total = np.zeros(len(self.cells))
        np.add.at(total, self.tail, conductance)
        np.add.at(total, self.head, conductance)
        free = np.array([cell.kind != "fixed" for cell in self.cells])
        return float(np.max(np.where(free, dt_s * D_max_m2_s * total / self.volume_m3, 0)))

    def geometry(self) -> "Geometry":
        """The chamber as jax arrays, in the current default floating type."""
        from unmixnet.physics.geometry import Geometry

        return Geometry.of(
            volume=self.volume_m3,
            length=[edge.length_m for edge in self.edges],
            area=[edge.area_m2 for edge in self.edges],
            tail=self.tail,
            head=self.head,
            sensor_cell=[self.index[sensor.cell] for sensor in self.sensors],
            fixed=[cell.kind == "fixed" for cell in self.cells],
            beside=self._beside(),
        )

    def _beside(self) -> list[int] | None:
        """Index of each sensor's second cell (its own where it has none); none if no sensor has one."""
        if all(sensor.beside is None for sensor in self.sensors):
            return None
        return [self.index[sensor.beside or sensor.cell] for sensor in self.sensors]

    def velocities(self) -> "Velocities":
        """The flows through the chamber as jax arrays, in the current default floating type."""
        import jax.numpy as jnp

        from unmixnet.physics.advection import Velocities

        return Velocities(
            velocity=jnp.asarray([edge.velocity_m_s for edge in self.edges], float),
            outlet_flow=jnp.asarray([cell.outlet_m3_s for cell in self.cells], float),
            inlet_flow=jnp.asarray([cell.inlet_m3_s for cell in self.cells], float),
        )


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def check_positive(value: object, name: str, where: str) -> None:
    """Refuse what is not a positive number."""
    if not is_number(value) or value <= 0:
        raise ChamberError(f"{name} is {value!r}, expected a positive number", where=where, remedy=f"Correct {name}")


def _parts(values: object, kind: type, name: str) -> tuple:
    """The cells, edges or sensors of a chamber; their names must be text."""
    parts = tuple(values) if isinstance(values, Iterable) else (values,)
    for i, part in enumerate(parts):
        if not isinstance(part, kind):
            remedy = f"Give a sequence of {kind.__name__}"
            raise ChamberError(f"{part!r} is not a {kind.__name__}", where=f"{name}[{i}]", remedy=remedy)
        for key in ("name", "tail", "head", "cell", "beside"):
            if not isinstance(getattr(part, key, ""), str | None if key == "beside" else str):
                problem = f"{key} is {getattr(part, key)!r}, expected text"
                raise ChamberError(problem, where=f"{name}[{i}]", remedy="Name cells and sensors by text")
    return parts


def _check_cells(cells: Sequence[Cell]) -> None:
    if not cells:
        raise ChamberError("a chamber needs at least one cell", where="cells", remedy="Add a cell with a volume")
    seen: set[str] = set()
    for i, cell in enumerate(cells):
        where = f"cells[{i}] ({cell.name})"
        if cell.name in seen:
            raise ChamberError("two cells have the same name", where=where, remedy="Rename one of them")
        seen.add(cell.name)
        if cell.kind not in KINDS:
            raise ChamberError(f"unknown kind {cell.kind!r}", where=where, remedy=f"Use one of {', '.join(KINDS)}")
        check_positive(cell.volume_m3, "volume_m3", where)
        for flow, name in ((cell.inlet_m3_s, "inlet_m3_s"), (cell.outlet_m3_s, "outlet_m3_s")):
            if not is_number(flow) or flow < 0:
                raise ChamberError(
                    f"{name} is {flow}, expected a flow that is not negative",
                    where=where,
                    remedy="Give the flow as a positive number; inlet and outlet say its direction",
                )


def _check_edges(edges: Sequence[Edge], index: dict[str, int]) -> None:
    for i, edge in enumerate(edges):
        where = f"edges[{i}] ({edge.tail} → {edge.head})"
        for end in (edge.tail, edge.head):
            if end not in index:
                raise ChamberError(
                    f"the edge ends at {end!r}, which is not a cell", where=where, remedy=_nearest(end, index)
                )
        if edge.tail == edge.head:
            raise ChamberError("the edge joins a cell to itself", where=where, remedy="Remove it")
        check_positive(edge.length_m, "length_m", where)
        check_positive(edge.area_m2, "area_m2", where)
        if not is_number(edge.velocity_m_s):
            raise ChamberError(f"velocity_m_s is {edge.velocity_m_s}", where=where, remedy="Give a finite velocity")


def _check_sensors(sensors: Sequence[Sensor], index: dict[str, int]) -> None:
    for i, sensor in enumerate(sensors):
        for cell in (sensor.cell,) if sensor.beside is None else (sensor.cell, sensor.beside):
            if cell not in index:
                raise ChamberError(
                    f"the sensor breathes {cell!r}, which is not a cell",
                    where=f"sensors[{i}] ({sensor.name})",
                    remedy=_nearest(cell, index),
                )
    seen: set[str] = set()
    for i, sensor in enumerate(sensors):
        if sensor.name in seen:
            where = f"sensors[{i}] ({sensor.name})"
            raise ChamberError("two sensors have the same name", where=where, remedy="Rename one of them")
        seen.add(sensor.name)


def _check_connected(chamber: Chamber) -> None:
    reached, frontier = {0}, [0]
    neighbours: dict[int, list[int]] = {i: [] for i in range(len(chamber.cells))}
    for tail, head in zip(chamber.tail, chamber.head, strict=True):
        neighbours[int(tail)].append(int(head))
        neighbours[int(head)].append(int(tail))
    while frontier:
        for v in neighbours[frontier.pop()]:
            if v not in reached:
                reached.add(v)
                frontier.append(v)
    if len(reached) < len(chamber.cells):
        lost = next(cell.name for i, cell in enumerate(chamber.cells) if i not in reached)
        raise ChamberError(
            f"no path of edges leads from {chamber.cells[0].name!r} to this cell",
            where=f"cell {lost}",
            remedy="Add an edge, or model the parts as two chambers",
        )


def _check_continuity(chamber: Chamber) -> None:
    flow = chamber.flow_m3_s
    inlet = np.array([cell.inlet_m3_s for cell in chamber.cells])
    outlet = np.array([cell.outlet_m3_s for cell in chamber.cells])
    through, surplus = inlet + outlet, inlet - outlet
    for ends, sign in ((chamber.tail, -1), (chamber.head, 1)):
        np.add.at(through, ends, np.abs(flow))
        np.add.at(surplus, ends, sign * flow)
    for i, cell in enumerate(chamber.cells):
        if cell.kind != "fixed" and abs(surplus[i]) > _CONTINUITY * through[i]:
            raise ChamberError(
                f"the flows bring {surplus[i]:+.3g} m³/s more than they take; continuity needs zero",
                where=f"cell {cell.name}",
                remedy="Balance the velocities, inlet and outlet of this cell",
            )


def _nearest(name: str, index: dict[str, int]) -> str:
    import difflib

    close = difflib.get_close_matches(name, index, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Use one of {', '.join(list(index)[:8])}"

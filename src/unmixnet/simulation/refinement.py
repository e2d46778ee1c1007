r"""A chamber with finer cells: each cell becomes a chain of sub-cells along its through-flow.

    cell u  →  n sub-cells of volume V_u/n, joined by n − 1 edges of length L_u/n and area L_u/R_u
    edge e  →  the same edge, ℓ_e/n long, from the last sub-cell upstream to the first downstream

    L_u = ℓ_in/2 + ℓ_out/2,    R_u = (Σ_in 2A/ℓ)⁻¹ + (Σ_out 2A/ℓ)⁻¹

ℓ_in and ℓ_out are the mean lengths of the edges on either side (a side without edges mirrors the other), R_u [1/m] the
diffusive resistance of the half edges that the cell owns. Volumes, flows, the length and the resistance ℓ/A from end to
end are those of the coarse chamber.

Edges without flow, where gas flows elsewhere, are lateral (the ring of the hand-held e-nose): they join sub-cell to
sub-cell, each with A/n and the full ℓ, so that their conductance adds up. In a chamber where nothing flows every edge
runs along its own direction, tail to head. An inlet is at the first sub-cell, an outlet at the last, a sensor breathes
the middle of its cell: a sub-cell, or the two beside it if there are as many sub-cells up- as downstream. A cell of
fixed composition stays whole: it is uniform by decree.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from unmixnet.errors import ChamberError
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor

__all__ = ["Refinement", "refine", "refined"]


@dataclass(frozen=True, eq=False)
class Refinement:
    """A finer chamber and where its parts came from.

    Arguments:
        chamber: the finer one.
        coarse: the one that it refines.
        coarse_cell: for each sub-cell the index of its cell.
        coarse_edge: for each edge the index of the edge that it stands for; −1 for edges inside a cell.
    """

    chamber: Chamber
    coarse: Chamber
    coarse_cell: np.ndarray
    coarse_edge: np.ndarray

    def cell_mean(self, values: np.ndarray) -> np.ndarray:
        """Volume-weighted mean over the sub-cells of each cell, (..., sub-cells, S) → (..., cells, S)."""
        share = np.zeros((len(self.coarse.cells), len(self.chamber.cells)))
        share[self.coarse_cell, np.arange(len(self.chamber.cells))] = self.chamber.volume_m3
        return (share / self.coarse.volume_m3[:, None]) @ values

    def edge_mean(self, flux: np.ndarray) -> np.ndarray:
        """Area-weighted mean over the edges that stand for one, (..., fine edges, S) → (..., edges, S)."""
        across = self.coarse_edge >= 0
        area = np.array([edge.area_m2 for edge in self.chamber.edges])
        share = np.zeros((len(self.coarse.edges), len(area)))
        share[self.coarse_edge[across], np.flatnonzero(across)] = area[across]
        return (share / share.sum(axis=1, keepdims=True)) @ flux


@dataclass(frozen=True)
class _Side:
    """What a cell owns of the edges on one side: half their mean length [m], and their resistance [1/m]."""

    length: float
    resistance: float


def refined(chamber: Chamber, parts: int = 4, *, centred: bool = True) -> Chamber:
    """The chamber with `parts` sub-cells for each cell; see `refine` for the maps between the two."""
    return refine(chamber, parts, centred=centred).chamber


def refine(chamber: Chamber, parts: int = 4, *, centred: bool = True) -> Refinement:
    """The chamber with `parts` sub-cells for each cell, and which cell and edge each part came from.

    Sensors that are not `centred` breathe sub-cell n // 2, half a sub-cell downstream of the middle if n is even, as
    data sets and models of the first order have them.
    """
    if parts < 1:
        raise ChamberError(f"parts is {parts}, expected at least 1", where="refine", remedy="Use 1 or more")
    counts = [1 if cell.kind == "fixed" else parts for cell in chamber.cells]
    cells = [_sub_cells(cell, n) for cell, n in zip(chamber.cells, counts, strict=True)]
    direction = _directions(chamber)
    edges = [
        (_across(chamber, e, direction[e], cells) if direction[e] else _beside(edge, chamber, cells), e)
        for e, edge in enumerate(chamber.edges)
    ]
    edges += [(_inside(chamber, v, direction, names), -1) for v, names in enumerate(cells)]
    seats = {cell.name: _middle(chain) for cell, chain in zip(chamber.cells, cells, strict=True)}
    finer = Chamber(
        tuple(cell for chain in cells for cell in chain),
        tuple(edge for group, _ in edges for edge in group),
        tuple(_seated(sensor, seats, centred=centred) for sensor in chamber.sensors),
    )
    return Refinement(
        finer,
        chamber,
        np.repeat(np.arange(len(cells)), counts),
        np.array([e for group, e in edges for _ in group], dtype=int),
    )


def _middle(chain: tuple[Cell, ...]) -> tuple[str, str | None]:
    """The sub-cell on the downstream side of the middle, and its neighbour where the middle is between them."""
    half, odd = divmod(len(chain), 2)
    return chain[half].name, None if odd else chain[half - 1].name


def _seated(sensor: Sensor, seats: dict[str, tuple[str, str | None]], *, centred: bool) -> Sensor:
    """A sensor of the coarse chamber in the finer one; between two cells it keeps to the downstream end of both."""
    cell, beside = seats[sensor.cell]
    if sensor.beside is not None:
        return replace(sensor, cell=cell, beside=seats[sensor.beside][0])
    return replace(sensor, cell=cell, beside=beside if centred else None)


def _sub_cells(cell: Cell, n: int) -> tuple[Cell, ...]:
    """Equal sub-cells of the same kind; the inlet at the first, the outlet at the last."""
    if n == 1:
        return (cell,)
    return tuple(
        Cell(
            f"{cell.name}.{k}",
            cell.volume_m3 / n,
            cell.kind,
            inlet_m3_s=cell.inlet_m3_s if k == 0 else 0.0,
            outlet_m3_s=cell.outlet_m3_s if k == n - 1 else 0.0,
        )
        for k in range(n)
    )


def _directions(chamber: Chamber) -> np.ndarray:
    """+1 for an edge that flows from tail to head, −1 for one that flows back, 0 for a lateral one."""
    flow = np.sign(chamber.flow_m3_s).astype(int)
    return flow if flow.any() else np.ones(len(flow), dtype=int)


def _across(chamber: Chamber, e: int, direction: int, cells: list[tuple[Cell, ...]]) -> tuple[Edge, ...]:
    """An edge along the flow: from the last sub-cell upstream to the first downstream, shortened by both chains."""
    edge, tail, head = chamber.edges[e], cells[chamber.tail[e]], cells[chamber.head[e]]
    length = 0.5 * edge.length_m * (1 / len(tail) + 1 / len(head))
    here, there = (tail[-1], head[0]) if direction > 0 else (tail[0], head[-1])
    return (replace(edge, tail=here.name, head=there.name, length_m=length),)


def _beside(edge: Edge, chamber: Chamber, cells: list[tuple[Cell, ...]]) -> tuple[Edge, ...]:
    """A lateral edge: sub-cell by sub-cell, the area divided among them."""
    tail, head = cells[chamber.index[edge.tail]], cells[chamber.index[edge.head]]
    n = max(len(tail), len(head))
    pairs = [(tail[k % len(tail)].name, head[k % len(head)].name) for k in range(n)]
    return tuple(replace(edge, tail=a, head=b, area_m2=edge.area_m2 / n) for a, b in pairs)


def _inside(chamber: Chamber, v: int, direction: np.ndarray, chain: tuple[Cell, ...]) -> tuple[Edge, ...]:
    """Edges between the sub-cells of one cell; they carry all that flows through it."""
    if len(chain) == 1:
        return ()
    along = direction != 0
    into = along & (np.where(direction > 0, chamber.head, chamber.tail) == v)
    out = along & (np.where(direction > 0, chamber.tail, chamber.head) == v)
    length, area = _tube(chamber, v, into, out)
    flow = chamber.cells[v].inlet_m3_s + float(np.abs(chamber.flow_m3_s[into]).sum())
    return tuple(Edge(a.name, b.name, length / len(chain), area, flow / area) for a, b in pairwise(chain))


def _tube(chamber: Chamber, v: int, into: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """Length and area of a cell seen along its flow; a side pocket without flow is as long as its edges."""
    before, behind = _side(chamber, into), _side(chamber, out)
    first, last = before or behind, behind or before
    if first is None or last is None:
        touching = [edge.length_m for edge in chamber.edges if chamber.cells[v].name in (edge.tail, edge.head)]
        length = float(np.mean(touching)) if touching else float(np.cbrt(chamber.volume_m3[v]))
        return length, float(chamber.volume_m3[v]) / length
    length = first.length + last.length
    return length, length / (first.resistance + last.resistance)


def _side(chamber: Chamber, chosen: np.ndarray) -> _Side | None:
    edges = [edge for edge, there in zip(chamber.edges, chosen, strict=True) if there]
    if not edges:
        return None
    conductance = sum(2 * edge.area_m2 / edge.length_m for edge in edges)
    return _Side(float(np.mean([edge.length_m for edge in edges])) / 2, 1 / conductance)

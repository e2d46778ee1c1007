"""Chambers that people build: a chain, a box, two bulbs with a capillary, a flow-through cell, a portable e-nose."""

import numpy as np

from unmixnet.errors import ChamberError
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Kind, Sensor

__all__ = ["BUILDERS", "box", "chain", "flow_through", "portable_enose", "two_bulbs"]


def chain(
    n_cells: int = 8,
    *,
    length_m: float = 0.08,
    area_m2: float = 1e-4,
    sensors: int = 1,
    fixed_ends: bool = False,
) -> Chamber:
    """A straight tube of `n_cells` equal cells; the first is the source, sensors sit at the far end.

    With `fixed_ends` the first and last cell hold a given composition instead (a diffusion tube).
    """
    if n_cells < 2:
        raise ChamberError(f"n_cells is {n_cells}, expected at least 2", where="chain", remedy="Use two cells or more")
    step = length_m / n_cells
    ends: tuple[Kind, Kind] = ("fixed", "fixed") if fixed_ends else ("source", "sensor")
    inner: list[Kind] = ["gas"] * (n_cells - 2)
    kinds: list[Kind] = [ends[0], *inner, ends[1]]
    cells = [Cell(f"c{i}", step * area_m2, kind) for i, kind in enumerate(kinds)]
    edges = [Edge(f"c{i}", f"c{i + 1}", step, area_m2) for i in range(n_cells - 1)]
    return Chamber(tuple(cells), tuple(edges), tuple(Sensor(f"s{m}", cells[-1].name) for m in range(sensors)))


def box(
    nx: int = 2,
    ny: int = 2,
    nz: int = 2,
    *,
    size_m: tuple[float, float, float] = (0.1, 0.1, 0.1),
    sensors: int = 4,
) -> Chamber:
    """A rectangular box of nx × ny × nz cells; source in the first corner, sensors spread over the last cells."""
    counts = (nx, ny, nz)
    if min(counts) < 1 or nx * ny * nz < 2:
        raise ChamberError(f"the box is {nx}×{ny}×{nz} cells", where="box", remedy="Use two cells or more")
    spacing = [size / count for size, count in zip(size_m, counts, strict=True)]
    volume = float(np.prod(spacing))
    places = list(np.ndindex(*counts))
    breathing = {places[-1 - m % (len(places) - 1)] for m in range(sensors)}

    def kind(place: tuple[int, ...]) -> Kind:
        return "source" if place == (0, 0, 0) else "sensor" if place in breathing else "gas"

    cells = [Cell(_name(place), volume, kind(place)) for place in places]
    edges = []
    for place in places:
        for axis in range(3):
            if place[axis] + 1 < counts[axis]:
                next_ = tuple(p + (a == axis) for a, p in enumerate(place))
                edges.append(Edge(_name(place), _name(next_), spacing[axis], volume / spacing[axis]))
    seats = [_name(places[-1 - m % (len(places) - 1)]) for m in range(sensors)]
    return Chamber(tuple(cells), tuple(edges), tuple(Sensor(f"s{m}", seat) for m, seat in enumerate(seats)))


def _name(place: tuple[int, ...]) -> str:
    return "c" + "_".join(map(str, place))


def two_bulbs(
    n_capillary: int = 16,
    *,
    volumes_m3: tuple[float, float] = (77.99e-6, 78.63e-6),
    length_m: float = 0.0859,
    length_over_area_per_m: float = 25810.0,
) -> Chamber:
    """The two bulbs of Duncan & Toor (1962) joined by a capillary resolved into `n_capillary` cells.

    Length over area is the effective one, 258.1 cm⁻¹, that includes the end effects.
    """
    if n_capillary < 1:
        raise ChamberError("the capillary has no cells", where="two_bulbs", remedy="Set n_capillary to 1 or more")
    area, step = length_m / length_over_area_per_m, length_m / n_capillary
    inside = [Cell(f"capillary{i}", step * area) for i in range(n_capillary)]
    cells = [Cell("bulb1", volumes_m3[0]), *inside, Cell("bulb2", volumes_m3[1])]
    # a bulb is well mixed up to the mouth of the capillary: half a cell from the first centre
    lengths = [step / 2, *[step] * (n_capillary - 1), step / 2]
    edges = [Edge(cells[i].name, cells[i + 1].name, lengths[i], area) for i in range(n_capillary + 1)]
    return Chamber(tuple(cells), tuple(edges), ())


def flow_through(
    n_cells: int = 6,
    *,
    volume_m3: float = 60e-6,
    length_m: float = 0.1,
    flow_m3_s: float = 300e-6 / 60,
    sensors: int = 4,
) -> Chamber:
    """A measuring cell with gas flowing through: inlet first, outlet last, sensors along the way."""
    if n_cells < 2:
        raise ChamberError(f"n_cells is {n_cells}", where="flow_through", remedy="Use two cells or more")
    area, step = volume_m3 / length_m, length_m / n_cells
    cells = [Cell(f"c{i}", volume_m3 / n_cells, "sensor") for i in range(n_cells)]
    cells[0] = Cell("c0", volume_m3 / n_cells, "source", inlet_m3_s=flow_m3_s)
    cells[-1] = Cell(cells[-1].name, volume_m3 / n_cells, "outlet", outlet_m3_s=flow_m3_s)
    edges = [Edge(f"c{i}", f"c{i + 1}", step, area, flow_m3_s / area) for i in range(n_cells - 1)]
    seats = [cells[1 + m % max(n_cells - 2, 1)].name for m in range(sensors)]
    return Chamber(tuple(cells), tuple(edges), tuple(Sensor(f"s{m}", seat) for m, seat in enumerate(seats)))


def portable_enose(*, sensors: tuple[str, ...] = ("NO2", "C2H5OH", "VOC", "CO"), flow_m3_s: float = 2e-6) -> Chamber:
    """A hand-held e-nose over a sample jar: headspace, throat, four sensor cells in a ring, lid and vent (8 cells).

    A gentle draught (2 ml/s) is drawn through the throat, past the sensors and out of the vent.
    """
    ring = [f"board{i}" for i in range(4)]
    cells = (
        Cell("headspace", 60e-6, "source", inlet_m3_s=flow_m3_s),
        Cell("throat", 8e-6),
        *(Cell(name, 5e-6, "sensor") for name in ring),
        Cell("lid", 12e-6, "wall"),
        Cell("vent", 10e-6, "outlet", outlet_m3_s=flow_m3_s),
    )
    quarter = flow_m3_s / 4
    throat, slot, gap = 6e-4, 2e-4, 1e-4
    edges = (
        Edge("headspace", "throat", 0.03, throat, flow_m3_s / throat),
        *(Edge("throat", name, 0.02, slot, quarter / slot) for name in ring),
        *(Edge(ring[i], ring[(i + 1) % 4], 0.015, gap) for i in range(4)),
        *(Edge(name, "lid", 0.02, slot, quarter / slot) for name in ring),
        Edge("lid", "vent", 0.02, throat, flow_m3_s / throat),
    )
    return Chamber(cells, edges, tuple(Sensor(name, ring[m % 4]) for m, name in enumerate(sensors)))


BUILDERS = {
    "chain": chain,
    "box": box,
    "two_bulbs": two_bulbs,
    "flow_through": flow_through,
    "portable_enose": portable_enose,
}

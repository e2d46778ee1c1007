"""Chambers that people build: a chain, a box, two bulbs with a capillary, a flow-through cell, a portable e-nose."""

import numpy as np

from unmixnet.errors import ChamberError
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Kind, Sensor, check_positive, is_number

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

    >>> import unmixnet as um
    >>> [cell.kind for cell in um.chain(4).cells]
    ['source', 'gas', 'gas', 'sensor']
    """
    _check_counts("chain", n_cells=(n_cells, 2), sensors=(sensors, 0))
    _check_sizes("chain", length_m=length_m, area_m2=area_m2)
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
    """A rectangular box of nx × ny × nz cells; source in the first corner, sensors spread over the last cells.

    >>> import unmixnet as um
    >>> len(um.box(3, 2, 2).cells)
    12
    """
    counts = (nx, ny, nz)
    _check_counts("box", nx=(nx, 1), ny=(ny, 1), nz=(nz, 1), sensors=(sensors, 0))
    for size in _several(size_m, 3, "box", "size_m"):
        _check_sizes("box", size_m=size)
    if nx * ny * nz < 2:
        raise ChamberError(f"the box is {nx}×{ny}×{nz} cells", where="box", remedy="Use two cells or more")
    if nx * ny * nz > MOST:
        problem = f"nx × ny × nz is {nx * ny * nz:,} cells, expected at most {MOST:,}"
        raise ChamberError(problem, where="box", remedy="Use larger cells")
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

    >>> import unmixnet as um
    >>> len(um.two_bulbs(16).edges)
    17
    """
    _check_counts("two_bulbs", n_capillary=(n_capillary, 1))
    _check_sizes("two_bulbs", length_m=length_m, length_over_area_per_m=length_over_area_per_m)
    for volume in _several(volumes_m3, 2, "two_bulbs", "volumes_m3"):
        _check_sizes("two_bulbs", volumes_m3=volume)
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
    """A measuring cell with gas flowing through: inlet first, outlet last, sensors along the way.

    >>> import unmixnet as um
    >>> round(1e6 * 60 * um.flow_through().cells[0].inlet_m3_s)  # ml/min
    300
    """
    _check_counts("flow_through", n_cells=(n_cells, 2), sensors=(sensors, 0))
    _check_sizes("flow_through", volume_m3=volume_m3, length_m=length_m)
    _check_flow("flow_through", flow_m3_s)
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

    >>> import unmixnet as um
    >>> [sensor.cell for sensor in um.portable_enose().sensors]
    ['board0', 'board1', 'board2', 'board3']
    """
    _check_flow("portable_enose", flow_m3_s)
    _several(sensors, None, "portable_enose", "sensors")
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


MOST = 100_000
"""Cells or sensors of a chamber; more is a mistake."""


def _check_counts(where: str, **counts: tuple[object, int]) -> None:
    """Refuse what is not a whole number, or fewer than the builder needs; each count comes with its least value."""
    for name, (value, least) in counts.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= MOST:
            problem = f"{name} is {value!r}, expected a whole number from {least} to {MOST:,}"
            raise ChamberError(problem, where=where, remedy=f"Correct {name}")


def _check_sizes(where: str, **sizes: object) -> None:
    for name, value in sizes.items():
        check_positive(value, name, where)


def _check_flow(where: str, flow_m3_s: object) -> None:
    if not is_number(flow_m3_s) or flow_m3_s < 0:
        problem = f"flow_m3_s is {flow_m3_s!r}, expected a flow that is not negative"
        raise ChamberError(problem, where=where, remedy="Give the flow in m³/s, 0 for still air")


def _several(values: object, number: int | None, where: str, name: str) -> tuple[object, ...]:
    """The values of an argument that takes several: a tuple or list, of so many if a number is given."""
    if not isinstance(values, tuple | list) or number not in (None, len(values)):
        problem = f"{name} is {values!r}, expected {number or 'several'} values"
        raise ChamberError(problem, where=where, remedy=f"Give {name} as a tuple")
    return tuple(values)


BUILDERS = {
    "chain": chain,
    "box": box,
    "two_bulbs": two_bulbs,
    "flow_through": flow_through,
    "portable_enose": portable_enose,
}

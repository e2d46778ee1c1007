"""Where the cells of a chamber are drawn, and which way a line between two of them goes."""

import math
from dataclasses import dataclass

from unmixnet.inference.answer import States

__all__ = ["SHEETS", "Link", "Point", "Sheet", "layout", "link", "link_ends"]

Point = tuple[float, float]
_ARROW = " → "


@dataclass(frozen=True)
class Sheet:
    """The drawing area: depth runs along one side, cells of equal depth along the other."""

    width: int
    height: int
    upright: bool
    """Depth runs downwards, for a phone."""
    margin: int
    """Between the outermost cells of equal depth and the edge of the sheet."""
    tip: float
    """Share of a straight line at which its arrow sits, clear of the labels."""

    def place(self, level: int, levels: int, rank: int, cells: int) -> Point:
        """Point of the cell `rank` of `cells` at depth `level` of `levels`."""
        long, short = (self.height, self.width) if self.upright else (self.width, self.height)
        along = long * (level + 0.5) / levels
        across = short / 2 if cells == 1 else self.margin + (short - 2 * self.margin) * rank / (cells - 1)
        return (across, along) if self.upright else (along, across)


SHEETS = (Sheet(920, 420, False, 66, 0.5), Sheet(340, 540, True, 42, 0.62))


@dataclass(frozen=True)
class Link:
    """A line between two cells: its SVG path, and where and how its arrow sits [°]."""

    shape: str
    tip: Point
    angle: float


def link_ends(states: States) -> list[tuple[int, int]]:
    """Cells that each edge joins; an edge whose name does not say is (−1, −1)."""
    index = {name: i for i, name in enumerate(states.cells)}
    split = (name.split(_ARROW) for name in states.edges)
    return [(index.get(e[0], -1), index.get(e[1], -1)) if len(e) == 2 else (-1, -1) for e in split]


def layout(states: States, sheet: Sheet) -> tuple[list[Point], float]:
    """Cells by their number of steps from the first one; and the radius that leaves room between them."""
    depth = _depths(len(states.cells), link_ends(states))
    levels = [[v for v, d in enumerate(depth) if d == level] for level in range(max(depth) + 1)]
    places: list[Point] = [(0.0, 0.0)] * len(states.cells)
    for level, row in enumerate(levels):
        for rank, v in enumerate(row):
            places[v] = sheet.place(level, len(levels), rank, len(row))
    long, short = (sheet.height, sheet.width) if sheet.upright else (sheet.width, sheet.height)
    fullest = max(map(len, levels))
    return places, min(18.0 if sheet.upright else 22.0, 0.3 * long / len(levels), 0.3 * short / fullest)


def _depths(cells: int, ends: list[tuple[int, int]]) -> list[int]:
    """Steps from the first cell; cells that no line reaches come last."""
    depth = {0: 0}
    frontier = [0]
    while frontier:
        u = frontier.pop(0)
        for a, b in ends:
            for v, w in ((a, b), (b, a)):
                if v == u and w >= 0 and w not in depth:
                    depth[w] = depth[u] + 1
                    frontier.append(w)
    beyond = max(depth.values()) + 1
    return [depth.get(v, beyond) for v in range(cells)]


def link(begin: Point, end: Point, places: list[Point], radius: float, tip_at: float) -> Link:
    """A straight line, or a bow where a straight one would run through a third cell."""
    (x0, y0), (x1, y1) = begin, end
    angle = math.degrees(math.atan2(y1 - y0, x1 - x0))
    if not _blocked(begin, end, places, radius):
        tip = (x0 + tip_at * (x1 - x0), y0 + tip_at * (y1 - y0))
        return Link(f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}", tip, angle)
    bow = 0.26 * math.hypot(x1 - x0, y1 - y0)
    dx, dy = (-bow, 0.0) if abs(x1 - x0) < abs(y1 - y0) else (0.0, -bow)
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    shape = f"M{x0:.1f} {y0:.1f}Q{x + dx:.1f} {y + dy:.1f} {x1:.1f} {y1:.1f}"
    return Link(shape, (x + dx / 2, y + dy / 2), angle)


def _blocked(begin: Point, end: Point, places: list[Point], radius: float) -> bool:
    (x0, y0), (x1, y1) = begin, end
    length2 = (x1 - x0) ** 2 + (y1 - y0) ** 2 or 1.0
    for place in places:
        along = ((place[0] - x0) * (x1 - x0) + (place[1] - y0) * (y1 - y0)) / length2
        near = math.dist(place, (x0 + along * (x1 - x0), y0 + along * (y1 - y0))) < radius
        if place not in (begin, end) and 0 < along < 1 and near:
            return True
    return False

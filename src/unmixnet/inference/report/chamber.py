"""The chamber as a graph at one moment: cells by concentration, lines by flux, rings by coverage of the sensors."""

import math
from dataclasses import dataclass

import numpy as np

from unmixnet.files.printable import printable
from unmixnet.inference.answer import Answer, States
from unmixnet.inference.report.formatting import clipped, factor, markup, percent, scientific

__all__ = [
    "SHEETS",
    "Link",
    "Point",
    "Sheet",
    "chamber_view",
    "contrast_time",
    "layout",
    "link",
    "link_ends",
    "sensors_by_cell",
]

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


_LABELLED = 12.0
"""Smallest radius of a cell that still has room for its name."""
_RINGS = 2
"""Sensors in one cell that have a ring each; more of them share one."""
_ABOUT = "The chamber: cells coloured by concentration, lines by flux, rings by coverage of the sensors"


def contrast_time(states: States) -> int:
    """Index of the time at which the cells differ most."""
    total = np.nan_to_num(states.concentration_ppm).sum(axis=2)
    return int(np.argmax(np.ptp(total, axis=1))) if total.size else 0


def sensors_by_cell(answer: Answer) -> dict[str, list[int]]:
    """Sensors in each cell. Where the model does not say, those of the portable e-nose sit on its boards in turn."""
    states = answer.states
    boards = [name for name in states.cells if name.startswith("board")]
    named = states.seats or tuple(boards[m % len(boards)] for m in range(len(answer.channels)) if boards)
    by_cell: dict[str, list[int]] = {}
    for m, cell in enumerate(named[: len(answer.channels)]):
        if cell in states.cells:
            by_cell.setdefault(cell, []).append(m)
    return by_cell


def chamber_view(answer: Answer) -> str:
    """The graph twice, wide for a screen or paper and upright for a phone; the page shows one of them."""
    if not answer.states.cells or not len(answer.states.time_s):
        return ""
    return "".join(_graph(answer, sheet) for sheet in SHEETS)


def _graph(answer: Answer, sheet: Sheet) -> str:
    places, radius = layout(answer.states, sheet)
    kind = "upright" if sheet.upright else "wide"
    return (
        f'<svg class="chamber {kind}" viewBox="0 0 {sheet.width} {sheet.height}" role="img" aria-label="{_ABOUT}">'
        f"{_lines(answer.states, places, radius, sheet)}{_cells(answer, places, radius, sheet)}</svg>"
    )


def _lines(states: States, places: list[Point], radius: float, sheet: Sheet) -> str:
    """Width by the size of the flux summed over the components, arrow along their net flux."""
    flux = np.nan_to_num(states.flux_mol_m2_s[contrast_time(states)])
    size, net = np.abs(flux).sum(axis=1), flux.sum(axis=1)
    most = float(size.max(initial=0.0)) or 1.0
    drawn = []
    for e, (a, b) in enumerate(link_ends(states)):
        if a < 0 or b < 0 or a == b:
            continue
        begin, end = (places[a], places[b]) if net[e] >= 0 else (places[b], places[a])
        title = f"{states.edges[e]}: {scientific(float(size[e]))} mol/(m² s)"
        drawn.append(_line(link(begin, end, places, radius, sheet.tip), float(size[e]) / most, title))
    return "".join(drawn)


def _line(shape: Link, share: float, title: str) -> str:
    tip, half = "", 4.5 + 4.5 * share
    if share > 0.02:
        tip = (
            f'<path class="tip" transform="translate({shape.tip[0]:.1f} {shape.tip[1]:.1f}) rotate({shape.angle:.1f})" '
            f'd="M{-half:.1f} {-half:.1f}L{half:.1f} 0L{-half:.1f} {half:.1f}Z"/>'
        )
    return (
        f'<g class="edge" opacity="{0.3 + 0.7 * math.sqrt(share):.2f}"><title>{markup(title)}</title>'
        f'<path d="{shape.shape}" stroke-width="{1.2 + 4.3 * share:.1f}"/>{tip}</g>'
    )


def _cells(answer: Answer, places: list[Point], radius: float, sheet: Sheet) -> str:
    states, seated = answer.states, sensors_by_cell(answer)
    total = np.nan_to_num(states.concentration_ppm[contrast_time(states)]).sum(axis=1)
    most = float(total.max(initial=0.0)) or 1.0
    discs, words = [], []
    for v, name in enumerate(states.cells):
        rings, sensor_labels = _rings(answer, seated.get(name, []), places[v], radius)
        title = f"{name}: {factor(float(total[v]))} ppm implied"
        shade = 0.06 + 0.94 * max(float(total[v]), 0.0) / most
        discs.append(f"<g><title>{markup(title)}</title>{_disc(places[v], radius, shade)}{rings}</g>")
        if radius >= _LABELLED:
            words.append(_label(printable(name), sensor_labels, places[v], radius, sheet))
    return "".join(discs + words)


def _disc(at: Point, radius: float, shade: float) -> str:
    circle = f'cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:.1f}"'
    return f'<circle class="back" {circle}/><circle class="cell" {circle} fill-opacity="{shade:.3f}"/>'


def _rings(answer: Answer, sensors: list[int], at: Point, radius: float) -> tuple[str, tuple[str, ...]]:
    """A ring per sensor around its cell, filled as far as its sites are taken; and the words for it."""
    taken = np.nan_to_num(answer.states.coverage[contrast_time(answer.states)]).sum(axis=1)
    if len(sensors) > _RINGS:
        mean = float(taken[sensors].mean())
        return _ring(at, radius + 5, mean), (_sensor(f"{len(sensors)} sensors", mean),)
    rings = "".join(_ring(at, radius + 5 + 6 * i, float(taken[m])) for i, m in enumerate(sensors))
    return rings, tuple(_sensor(clipped(printable(answer.channels[m]), 9), float(taken[m])) for m in sensors)


def _sensor(name: str, taken: float) -> str:
    share = f'<tspan class="taken" dx="4">{markup(percent(taken))}</tspan>'
    return f'<tspan class="cell-name" dx="4">{markup(name)}</tspan>{share}'


def _ring(at: Point, radius: float, share: float) -> str:
    around = 2 * math.pi * radius
    filled = around * min(max(share, 0.0), 1.0)
    circle = f'cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:.1f}"'
    turn = f'transform="rotate(-90 {at[0]:.1f} {at[1]:.1f})"'
    return (
        f'<circle class="ring" {circle}/>'
        f'<circle class="ring taken" {circle} stroke-dasharray="{filled:.1f} {around:.1f}" {turn}/>'
    )


def _label(name: str, sensor_labels: tuple[str, ...], at: Point, radius: float, sheet: Sheet) -> str:
    """The sensors, or else the name of the cell, on the side that the lines to its neighbours leave free."""
    above = sensor_labels and not sheet.upright and at[1] < sheet.height / 2
    clear = radius + 4 + (9 if sensor_labels else 0)
    y = at[1] - clear if above else at[1] + clear + 11
    words = "".join(sensor_labels) or f'<tspan class="cell-name">{markup(clipped(name, 12))}</tspan>'
    return f'<text x="{at[0]:.1f}" y="{y:.1f}">{words}</text>'

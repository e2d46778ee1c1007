"""Boxes and arrows: what the diagrams of the system are drawn with."""

from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from unmixnet.simulation.plot_style import INK, MUTED

__all__ = ["KINDS", "Box", "arrow", "box", "canvas", "legend", "region"]

KINDS = {
    "data": ("#f1f1f1", "#7a7a7a", "data"),
    "learned": ("#d6e8f4", "#0072B2", "network: sets coefficients"),
    "physics": ("#d3eee4", "#009E73", "operator: moves the state, no weights of its own"),
    "answer": ("#fbe9c6", "#b87a00", "answer"),
}
"""Fill, edge and meaning; the edges differ in lightness, too, so that they can be told apart in grey."""


@dataclass(frozen=True)
class Box:
    """A rectangle, by its lower left corner and size."""

    x: float
    y: float
    width: float
    height: float

    def at(self, right: float, up: float) -> tuple[float, float]:
        """A point of it; (0, 0) is the lower left corner, (1, 1) the upper right one."""
        return self.x + right * self.width, self.y + up * self.height


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty drawing whose units are inches."""
    fig = plt.figure(figsize=(width, height))
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return fig, ax


def box(ax: Axes, place: Box, title: str, lines: str = "", *, kind: str = "physics", size: float = 10.5) -> Box:
    """A box with a bold title and lines below it."""
    fill, edge, _ = KINDS[kind]
    shape = "round,pad=0,rounding_size=0.09"
    ax.add_patch(
        FancyBboxPatch((place.x, place.y), place.width, place.height, boxstyle=shape, fc=fill, ec=edge, lw=1.4)
    )
    middle = place.x + place.width / 2
    top = place.y + place.height - 0.12
    if not lines:
        ax.text(
            middle, place.y + place.height / 2, title, ha="center", va="center", weight="bold", size=size, color=INK
        )
        return place
    ax.text(middle, top, title, ha="center", va="top", weight="bold", size=size, color=INK)
    under = place.y + (place.height - 0.12 - 0.018 * size * (1 + title.count("\n"))) / 2
    ax.text(middle, under, lines, ha="center", va="center", size=size - 1, color=INK, linespacing=1.35)
    return place


def arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "", *, bend: float = 0.0, **more: float
) -> None:
    """An arrow, its label above the middle; `up` and `right` move the label."""
    style = f"arc3,rad={bend}"
    ax.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=12, lw=1.4, color=INK, connectionstyle=style)
    )
    if text:
        x, y = (start[0] + end[0]) / 2 + more.get("right", 0.0), (start[1] + end[1]) / 2 + more.get("up", 0.1)
        ax.text(x, y, text, ha="center", va="bottom", size=10, color=INK)


def region(ax: Axes, place: Box, title: str) -> Box:
    """A dashed frame around boxes, with a title inside its top."""
    shape = "round,pad=0,rounding_size=0.14"
    frame = FancyBboxPatch(
        (place.x, place.y), place.width, place.height, boxstyle=shape, fc="none", ec=MUTED, lw=1.1, ls=(0, (4, 3))
    )
    ax.add_patch(frame)
    ax.text(place.x + 0.14, place.y + place.height - 0.1, title, ha="left", va="top", size=12, weight="bold", color=INK)
    return place


def legend(ax: Axes, x: float, y: float, kinds: tuple[str, ...]) -> None:
    """What the colours mean, in one line."""
    for kind in kinds:
        fill, edge, text = KINDS[kind]
        ax.add_patch(FancyBboxPatch((x, y), 0.22, 0.15, boxstyle="round,pad=0,rounding_size=0.03", fc=fill, ec=edge))
        ax.text(x + 0.3, y + 0.075, text, va="center", size=10, color=INK)
        x += 0.75 + 0.078 * len(text)

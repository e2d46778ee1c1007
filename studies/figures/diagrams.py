"""Diagrams of the system: the closed loop, and the two blocks of the solver."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["KINDS", "Box", "arrow", "box", "canvas", "draw_blocks", "draw_overview", "legend", "region"]

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


def draw_overview() -> Figure:
    """From a recording to an answer, and back to the recording."""
    with figure_style():
        fig, ax = canvas(11.0, 6.1)
        seen = box(ax, Box(0.2, 3.35, 1.55, 1.75), "Recording $Y$", kind="data", lines=" \n \n\nT samples, M sensors")
        _traces(ax, seen)
        _encoder(ax)
        _solver(ax)
        made = box(
            ax, Box(9.25, 0.85, 1.55, 1.75), "Rebuilt $\\hat Y$", kind="data", lines=" \n \n\nthrough the solver"
        )
        _traces(ax, made, smooth=True)
        answer = box(
            ax,
            Box(9.25, 3.35, 1.55, 1.75),
            "Answer",
            "shares with\n90 % intervals;\nmixture · nothing ·\nunlike training",
            kind="answer",
        )
        arrow(ax, seen.at(1, 0.5), (2.2, seen.at(1, 0.5)[1]))
        arrow(ax, (8.75, 4.22), answer.at(0, 0.5))
        arrow(ax, (8.75, 1.72), made.at(0, 0.5))
        arrow(ax, made.at(0.5, 1), answer.at(0.5, 0), "residual $Y-\\hat Y$", right=-0.72, up=-0.02)
        arrow(ax, seen.at(0.5, 0), (2.2, 1.72), "first sample $y^0$", bend=0.25, right=-0.75, up=-0.72)
        legend(ax, 0.25, 0.18, ("data", "learned", "physics", "answer"))
    return fig


def _traces(ax, place: Box, *, smooth: bool = False) -> None:
    """Four small curves inside a box."""
    rng, t = np.random.default_rng(1), np.linspace(0, 1, 60)
    for m in range(4):
        y = 0.18 * m + 0.2 * (1 - np.exp(-t * (1.5 + m))) + (0 if smooth else 0.012 * rng.standard_normal(60))
        x0, y0 = place.at(0.1, 0.34)
        ax.plot(x0 + 0.8 * place.width * t, y0 + 0.78 * y, color=PALETTE[(0, 1, 2, 5)[m]], lw=1.2)


def _encoder(ax) -> None:
    region(ax, Box(2.2, 3.05, 6.55, 2.85), "Inverse encoder  $E(Y, e)$")
    views = box(
        ax,
        Box(2.4, 3.45, 1.75, 1.75),
        "Views",
        "raw, low, high pass\nnormalised, and told\nwhat was removed",
        kind="learned",
    )
    trunk = box(
        ax,
        Box(4.45, 3.45, 1.75, 1.75),
        "Trunk",
        "patches attend in time;\nsensors hear the mean;\ntokens of sensors",
        kind="learned",
    )
    heads = box(
        ax,
        Box(6.5, 3.25, 2.05, 2.15),
        "Heads",
        "presence $\\hat z$, shares $\\hat a$\nrelease, exposure\ncoefficients $\\hat\\Psi$: global\n"
        "× bounded factor of\nthe sample",
        kind="learned",
    )
    arrow(ax, views.at(1, 0.5), trunk.at(0, 0.5))
    arrow(ax, trunk.at(1, 0.5), (heads.x, trunk.at(1, 0.5)[1]))
    arrow(ax, (7.5, 3.25), (7.5, 2.42), "$\\hat z, \\hat a, \\hat\\Psi$", right=0.5, up=-0.4)


def _solver(ax) -> None:
    region(ax, Box(2.2, 0.55, 6.55, 2.3), "Solver  $F$ on the graph of the chamber")
    y, high = 1.28, 1.1
    start = box(ax, Box(2.36, y, 1.16, high), "Start $S^0$", "clean air,\nexposed or\npartly so", size=10)
    source = box(ax, Box(3.72, y, 0.98, high), "Source", "$\\hat z\\hat a\\,\\rho(t)$\ninto cells", size=10)
    moves = box(ax, Box(4.9, y, 1.3, high), "Transport", "advection,\nMaxwell–Stefan\ndiffusion", size=10)
    surface = box(ax, Box(6.4, y, 1.06, high), "Surface", "competitive\nadsorption", size=10)
    reads = box(ax, Box(7.66, y, 0.98, high), "Readout", "gain, offset,\nlag", size=10)
    chain = (start, source, moves, surface, reads)
    for left, right in pairwise(chain):
        arrow(ax, left.at(1, 0.5), right.at(0, 0.5))
    arrow(ax, reads.at(0.5, 0), source.at(0.5, 0), bend=-0.16)
    ax.text(
        5.7,
        0.62,
        "next step: moles $N$, coverage $\\theta$, signal $y$; every mole is in the ledger",
        ha="center",
        size=9,
    )


def draw_blocks() -> Figure:
    """One step of the solver: $S^n$ to $S^{n+1}$."""
    with figure_style():
        fig, ax = canvas(11.0, 7.7)
        _transport(ax)
        _surface(ax)
        box(
            ax,
            Box(0.3, 0.55, 10.4, 0.62),
            "Ledger: gas + sites of sensors + walls + out = start + released + in + held by boundaries,"
            "  for every substance, to rounding",
            size=9.5,
        )
        arrow(ax, (3.0, 1.5), (3.0, 1.17))
        arrow(ax, (8.0, 1.5), (8.0, 1.17))
        legend(ax, 0.35, 0.16, ("learned", "physics", "data"))
    return fig


def _transport(ax: Axes) -> None:
    region(ax, Box(0.3, 4.65, 10.4, 2.85), "(a) Transport: moles $N$ of every substance and of air, in every cell")
    names = (
        ("Source", "$N \\leftarrow N + \\Delta t\\,\\hat z\\hat a\\,\\rho(t)\\,p$\nrelease, known or\ninferred place"),
        (
            "CFL advection",
            "$N' = (1-\\Sigma P_{out})N + \\Sigma P_{in}N$\n$P \\geq 0,\\ \\Sigma P \\leq 1$; substeps\n"
            "what leaves is recorded",
        ),
        (
            "Maxwell–Stefan diffusion",
            "$-\\bar c\\,g_i=\\Sigma_j(\\bar x_jJ_i-\\bar x_iJ_j)/D_{ij}$\n$\\Sigma J = 0$ exactly; carrier counts\n"
            "conservative limiter",
        ),
        ("Walls", "$N \\leftarrow N e^{-\\kappa\\Delta t}$\nif there are any\n(network: none)"),
    )
    sets = ("amount, rise, decay", "edge velocities × factor", "$D_{ij}$ symmetric, global × factor", "")
    _operators(ax, 4.85, names, (1.95, 2.7, 3.1, 1.55), sets)


def _surface(ax: Axes) -> None:
    region(ax, Box(0.3, 1.5, 10.4, 2.9), "(b) Sensor surface: coverage $\\theta$ of each sensor, then its signal $y$")
    names = (
        ("Air at the sensor", "$c_i = N_i/V$ of its cell;\nwhat sticks leaves the cell"),
        (
            "Competitive adsorption",
            "$\\dot\\theta = Q(c)\\,\\theta$, one empty site\n$\\theta^{n+1}=e^{\\Delta tQ}\\theta^n$ exactly\n"
            "$\\theta\\geq 0,\\ \\Sigma\\theta=1$",
        ),
        ("Transduction", "$r=\\Sigma\\beta_i\\theta_i$\n$s^*=b \\pm \\mathrm{gain}\\,\\ln(1+kr)/k$\nrises with $r$"),
        ("Lag", "$y \\leftarrow e^{-\\Delta t/\\tau}y$\n$+(1-e^{-\\Delta t/\\tau})s^*$\nrise ≠ recovery"),
    )
    sets = ("", "$k_{ads}, k_{des}$ of pairs", "$\\beta$; session's gain, offset", "$\\tau$ of the sensor")
    first = _operators(ax, 1.75, names, (2.05, 2.75, 2.6, 1.9), sets)[0]
    start = Box(first.x, first.y + first.height + 0.34, first.width, 0.62)
    box(ax, start, "Exposed start:\n$\\theta^0$ stationary at $c$", kind="data", size=9)
    arrow(ax, start.at(0.5, 0), first.at(0.5, 1))


def _operators(
    ax: Axes, y: float, names: Sequence[tuple[str, str]], widths: Sequence[float], sets: Sequence[str]
) -> list[Box]:
    """Operators in a row, an arrow from each to the next; above each what a network sets of it, if anything."""
    x, row = 0.5, []
    for (title, lines), width in zip(names, widths, strict=True):
        row.append(box(ax, Box(x, y, width, 1.32), title, lines))
        x += width + 0.25
    for left, right in pairwise(row):
        arrow(ax, left.at(1, 0.5), right.at(0, 0.5))
    for place, text in zip(row, sets, strict=True):
        if text:
            _sets(ax, place, text)
    return row


def _sets(ax: Axes, place: Box, text: str) -> None:
    """A network above the operator that it sets the coefficients of."""
    above = Box(place.x + 0.08, place.y + place.height + 0.34, place.width - 0.16, 0.42)
    box(ax, above, text, kind="learned", size=8.5)
    arrow(ax, above.at(0.5, 0), place.at(0.5, 1))

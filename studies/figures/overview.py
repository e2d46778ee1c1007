"""The system: an inverse encoder proposes a mixture, a solver must be able to make the recording from it."""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from studies.figures.diagram import Box, arrow, box, canvas, legend, region
from unmixnet.simulation.plot_style import PALETTE, figure_style

__all__ = ["draw_overview"]


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

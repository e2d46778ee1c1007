"""The two blocks of the solver: transport of moles through the chamber, and the surface of a sensor."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.diagram import Box, arrow, box, canvas, legend, region
from unmixnet.simulation.plot_style import figure_style

__all__ = ["draw_blocks"]


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
    y, high = 4.85, 1.32
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
    widths, x, chain = (1.95, 2.7, 3.1, 1.55), 0.5, []
    for (title, lines), width in zip(names, widths, strict=True):
        chain.append(box(ax, Box(x, y, width, high), title, lines))
        x += width + 0.25
    for left, right in pairwise(chain):
        arrow(ax, left.at(1, 0.5), right.at(0, 0.5))
    sets = ("amount, rise, decay", "edge velocities × factor", "$D_{ij}$ symmetric, global × factor", "")
    for place, text in zip(chain, sets, strict=True):
        if text:
            _sets(ax, place, text)


def _surface(ax: Axes) -> None:
    region(ax, Box(0.3, 1.5, 10.4, 2.9), "(b) Sensor surface: coverage $\\theta$ of each sensor, then its signal $y$")
    y, high = 1.75, 1.32
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
    widths, x, chain = (2.05, 2.75, 2.6, 1.9), 0.5, []
    for (title, lines), width in zip(names, widths, strict=True):
        chain.append(box(ax, Box(x, y, width, high), title, lines))
        x += width + 0.25
    for left, right in pairwise(chain):
        arrow(ax, left.at(1, 0.5), right.at(0, 0.5))
    sets = ("", "$k_{ads}, k_{des}$ of pairs", "$\\beta$; session's gain, offset", "$\\tau$ of the sensor")
    for place, text in zip(chain, sets, strict=True):
        if text:
            _sets(ax, place, text)
    start = Box(chain[0].x, y + high + 0.34, chain[0].width, 0.62)
    box(ax, start, "Exposed start:\n$\\theta^0$ stationary at $c$", kind="data", size=9)
    arrow(ax, start.at(0.5, 0), chain[0].at(0.5, 1))


def _sets(ax: Axes, place: Box, text: str) -> None:
    """A network above the operator that it sets the coefficients of."""
    above = Box(place.x + 0.08, place.y + place.height + 0.34, place.width - 0.16, 0.42)
    box(ax, above, text, kind="learned", size=8.5)
    arrow(ax, above.at(0.5, 0), place.at(0.5, 1))

"""One look for all figures: quiet axes, colours that colour-blind people can tell apart."""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib

matplotlib.use("Agg", force=False)
import matplotlib.pyplot as plt

__all__ = ["INK", "MUTED", "PALETTE", "figure_style"]

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#7A7A7A")
"""Okabe & Ito, plus two."""
INK, MUTED = "#222222", "#8a8a8a"


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw inside this context."""
    with plt.rc_context(
        {
            "figure.dpi": 130,
            "figure.facecolor": "white",
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.edgecolor": MUTED,
            "axes.labelcolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#e9e9e9",
            "grid.linewidth": 0.8,
            "axes.axisbelow": True,
            "xtick.color": MUTED,
            "ytick.color": MUTED,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "lines.linewidth": 1.8,
            "lines.solid_capstyle": "round",
            "legend.frameon": False,
            "savefig.bbox": "tight",
        }
    ):
        yield

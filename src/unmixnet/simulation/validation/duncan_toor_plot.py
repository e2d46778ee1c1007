"""Duncan & Toor's two bulbs: Maxwell–Stefan, the measured points, and the Fick curve that fails."""

from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style
from unmixnet.simulation.validation.duncan_toor import MEASURED, NAMES, Bulbs, fick_bulbs, maxwell_stefan_bulbs, misses

__all__ = ["draw_duncan_toor"]


def draw_duncan_toor(path: str | Path) -> Path:
    """Draw bulb 1, bulb 2 and, enlarged, nitrogen in both."""
    path = Path(path)
    with jax.enable_x64(True):
        ours, fick = maxwell_stefan_bulbs(8), fick_bulbs()
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure_style():
        fig, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
        for bulb, ax in enumerate(axes[:2]):
            for i, name in enumerate(NAMES):
                curve, other = (ours.bulb1, fick.bulb1) if bulb == 0 else (ours.bulb2, fick.bulb2)
                ax.plot(ours.hours, curve[:, i], color=PALETTE[i], label=name)
                ax.plot(fick.hours, other[:, i], color=PALETTE[i], ls=(0, (2, 2)), lw=1.2)
                ax.plot(*_points(bulb, i), "o", color=PALETTE[i], mec="white", ms=6)
            ax.set(title=f"Bulb {bulb + 1}", xlabel="time [h]", xlim=(0, 12), ylim=(0, 0.62))
        axes[0].set_ylabel("mole fraction")
        axes[0].plot([], [], "o", color=MUTED, mec="white", label="measured")
        axes[0].plot([], [], color=MUTED, label="Maxwell–Stefan")
        axes[0].plot([], [], color=MUTED, ls=(0, (2, 2)), lw=1.2, label="Fick (Wilke)")
        axes[0].legend(fontsize=8, ncols=2, loc="lower right")
        _nitrogen(axes[2], ours, fick)
        fig.suptitle(
            f"Two bulbs, 1962: mean distance from the measurements {100 * misses(ours):.2f} mole % "
            f"(Fick {100 * misses(fick):.1f})",
            x=0.005,
            ha="left",
            fontsize=12,
            fontweight="bold",
            color=INK,
        )
        fig.savefig(path)
        plt.close(fig)
    return path


def _points(bulb: int, species: int) -> tuple[list[float], list[float]]:
    return list(MEASURED), [bulbs[bulb][species] for bulbs in MEASURED.values()]


def _nitrogen(ax: Axes, ours: Bulbs, fick: Bulbs) -> None:
    """Nitrogen in both bulbs: crossing and barrier."""
    for bulb, (curve, other) in enumerate(((ours.bulb1, fick.bulb1), (ours.bulb2, fick.bulb2))):
        colour = PALETTE[1] if bulb == 0 else PALETTE[5]
        ax.plot(ours.hours, curve[:, 1], color=colour)
        ax.plot(fick.hours, other[:, 1], color=colour, ls=(0, (2, 2)), lw=1.2)
        ax.plot(*_points(bulb, 1), "o", color=colour, mec="white", ms=6)
        ax.annotate(
            f"bulb {bulb + 1}", (12, curve[-1, 1]), (4, 0), textcoords="offset points", color=colour, fontsize=8
        )
    cross, barrier = ours.crossing_h(), ours.barrier_h()
    level = np.interp(cross, ours.hours, ours.bulb1[:, 1])
    ax.annotate(
        f"equal after {cross:.2f} h,\nyet it goes on",
        (cross, level),
        (34, -3),
        textcoords="offset points",
        fontsize=8,
        color=INK,
        arrowprops={"arrowstyle": "-", "color": MUTED},
    )
    top = np.interp(barrier, ours.hours, ours.bulb1[:, 1])
    ax.annotate(
        f"stands still against\na gradient at {barrier:.2f} h",
        (barrier, top),
        (-10, -46),
        textcoords="offset points",
        fontsize=8,
        color=INK,
        ha="center",
        arrowprops={"arrowstyle": "-", "color": MUTED},
    )
    ax.set(title="Nitrogen, which started almost equal", xlabel="time [h]", xlim=(0, 12), ylim=(0.4, 0.58))

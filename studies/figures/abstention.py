"""What abstention catches: the error of what is still answered, as more and more is withheld."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.caption import Caption
from studies.figures.failures import risk_curve
from unmixnet.simulation.plot_style import INK, PALETTE, figure_style

__all__ = ["abstention_caption", "draw_abstention"]

_SHOWN = {
    "novelty": (PALETTE[5], "-"),
    "residual alone": (PALETTE[2], (0, (5, 2))),
    "windows disagree": (PALETTE[3], (0, (3, 1, 1, 1))),
    "small largest share": (PALETTE[0], (0, (1, 1.2))),
}
"""Scores that are drawn; the table has all."""


def draw_abstention(record: Mapping[str, Any]) -> Figure:
    """One panel for each split."""
    splits = record["abstention"]["splits"]
    with figure_style():
        fig, axes = plt.subplots(1, len(splits), figsize=(5.6 * len(splits), 4.6), layout="constrained", squeeze=False)
        for ax, (name, split) in zip(axes[0], splits.items(), strict=True):
            _panel(ax, name, split)
        axes[0, -1].legend(fontsize=8.5, loc="lower center")
    return fig


def _panel(ax: Axes, name: str, split: Mapping[str, Any]) -> None:
    error = np.array(split["error"])
    drawn = [score for score in _SHOWN if score in split["scores"]] or list(split["scores"])
    first = risk_curve(np.array(split["scores"][drawn[0]]), error)
    ax.fill_between(first.coverage, first.lo, first.hi, color="#e6e6e6", lw=0, label="random abstention, 95 %")
    ax.plot(first.coverage, first.best, color=INK, lw=1.2, ls=(0, (4, 3)), label="if errors were known")
    for score in drawn:
        colour, style = _SHOWN.get(score, (PALETTE[7], "-"))
        curve = risk_curve(np.array(split["scores"][score]), error, draws=1)
        kept = curve.coverage >= 0.1
        ax.plot(curve.coverage[kept], curve.risk[kept], color=colour, ls=style, lw=2, label=score)
    withheld = int(np.sum(split["withheld"]))
    ax.axvline(1 - withheld / len(error), color=INK, lw=1, ls=":", label="where the bundle withholds")
    ax.set(xlabel="share of recordings answered", ylabel="error of what is answered: mean |â − a|")
    ax.set(xlim=(0.1, 1.005), title=f"{name}: {len(error)} recordings")
    ax.set_ylim(0, 1.25 * float(max(first.hi[first.coverage >= 0.1].max(), error.mean())))


def abstention_caption(record: Mapping[str, Any]) -> Caption:
    """The words under it."""
    part = record["abstention"]
    told = []
    for one in part["verdicts"]:
        caught = "" if one["withheld_error"] is None else f" with an error of {one['withheld_error']:.3f}"
        answered = "none" if one["answered"] is None else f"{one['answered']:.3f}"
        told.append(
            f"{one['split']} ({one['recipes']} recipes): {one['withheld']} of {one['n']} withheld{caught}, the "
            f"answered ones {answered}."
        )
    areas = "; ".join(_best(part, one["split"]) for one in part["verdicts"])
    return Caption(
        "What abstention catches",
        f"Answers of the shipped bundle {part['bundle']} ({part['digest'][:12]}) to recordings that it has not seen, "
        "the least doubtful first. Below the grey band a score withholds wrong answers; inside it, it does no better "
        f"than dice; above it, the answers that look surest are the worst. At its own limits: {' '.join(told)} "
        "Mean height of a curve less that of chance, with intervals from resampling recipes, since the band takes "
        f"recordings for independent: {areas}.",
        "The lowest of many scores is flattered: it has to be confirmed on other recipes before it may decide "
        "anything. Substances that training does not have are another test; see the table.",
    )


def _best(part: Mapping[str, Any], split: str) -> str:
    """Novelty and the lowest curve of a split, beside chance."""
    rows = [row for row in part["rows"] if row["split"] == split]
    low = min(rows, key=lambda row: row["area"])
    shown = {row["score"]: row for row in rows if row["score"] == "novelty"} | {low["score"]: low}
    told = ", ".join(
        f"{name} {row['area'] - row['random']:+.3f} [{row['gain_lo']:+.3f}, {row['gain_hi']:+.3f}]"
        for name, row in shown.items()
    )
    return f"{split} {told}, the lowest of {len(rows)} scores being {low['score']}"

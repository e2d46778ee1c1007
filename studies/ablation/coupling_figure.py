"""Figure of what Maxwell–Stefan can and cannot change: departures from it against the fraction of odorants."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw_coupling"]

_FLOOR = 1e-10
_LINES = {
    "fick": ("Fick", 0, "-"),
    "unconstrained flux": ("unconstrained flux", 5, "--"),
    "projection of the main text": ("projection of the paper's main text", 3, "-"),
    "paper-literal projection, float32": ("projection of its supplement, float32", 6, "-"),
    "maxwell–stefan, float32": ("Maxwell–Stefan, float32", 2, ":"),
    "linear readout": ("linear readout", 7, "-."),
}
"""Law: its name in the legend, its colour and its dashes."""
_QUANTITIES = {"signal": "sensor signal: max |y − y_MS| / max |y_MS|", "flux": "flux: relative RMS of J − J_MS"}


def draw_coupling(rows: Sequence[dict[str, Any]], path: str | Path) -> Path:
    """One row of panels for each case, signal on the left and flux on the right."""
    import matplotlib.pyplot as plt

    from unmixnet.simulation.plot_style import MUTED, PALETTE, figure_style

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = list(dict.fromkeys(row["case"] for row in rows))
    with figure_style():
        fig, axes = plt.subplots(
            len(cases), 2, figsize=(11, 3.9 * len(cases)), layout="constrained", squeeze=False, sharex=True, sharey=True
        )
        for case, pair in zip(cases, axes, strict=True):
            for (quantity, title), ax in zip(_QUANTITIES.items(), pair, strict=True):
                for law, (name, colour, dashes) in _LINES.items():
                    mine = [row for row in rows if (row["case"], row["law"]) == (case, law)]
                    x, y = [row["fraction"] for row in mine], [row[quantity] for row in mine]
                    if max(y, default=0) > _FLOOR:
                        ax.plot(x, y, dashes, color=PALETTE[colour], label=name, marker="o", ms=3)
                ax.axvspan(1e-6, 1e-3, color="#f1f1f1", zorder=0)
                ax.set(xscale="log", yscale="log", ylim=(1e-9, 3), title=f"{case}\n{title}")
        for ax in axes[-1]:
            ax.set_xlabel("largest total mole fraction of odorants in the chamber")
        for ax in axes[:, 0]:
            ax.set_ylabel("departure from Maxwell–Stefan")
        axes[0, 0].text(3e-5, 1.6e-9, "ppm: where noses work", ha="center", color=MUTED, fontsize=8)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
        fig.savefig(path)
        plt.close(fig)
    return path

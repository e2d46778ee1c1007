"""Fingerprints of the pure substances: a map of them, the graph of those that look alike, and all coherences."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.caption import Caption
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["ALIKE", "draw_fingerprints", "fingerprint_caption"]

ALIKE = 0.9
"""Whitened coherence above which an edge is drawn."""


def draw_fingerprints(record: Mapping[str, Any]) -> Figure:
    """The map with its graph, and the table of coherences."""
    with figure_style():
        fig, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained", width_ratios=(1.15, 1))
        _map(axes[0], record)
        _table(fig, axes[1], record)
    return fig


def _map(ax: Axes, record: Mapping[str, Any]) -> None:
    place, alike = np.array(record["map"]), np.array(record["whitened"])
    taken = [place]
    for i, j in combinations(range(len(place)), 2):
        if alike[i, j] > ALIKE:
            opposed = record["cosine"][i][j] < 0
            taken.append(np.linspace(place[i], place[j], 12)[1:-1])
            strength = (alike[i, j] - ALIKE) / (1 - ALIKE)
            style = (0, (3, 2)) if opposed else "-"
            ax.plot(*place[[i, j]].T, color=PALETTE[5], ls=style, lw=0.8 + 3.2 * strength, alpha=0.6, zorder=1)
    ax.scatter(*place.T, s=60, color=PALETTE[0], edgecolors="white", zorder=3)
    for k, (name, count) in enumerate(zip(record["components"], record["recordings"], strict=True)):
        away = _away(place[k], np.concatenate(taken))
        ax.annotate(
            f"{name} ({count})",
            place[k],
            away,
            textcoords="offset points",
            fontsize=9.5,
            color=INK,
            ha="left" if away[0] > 0 else "right",
            va="center",
            zorder=4,
            bbox={"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.4},
        )
    ax.axhline(0, color=MUTED, lw=0.7)
    ax.axvline(0, color=MUTED, lw=0.7)
    ax.margins(0.22, 0.12)
    share = record["variance"]
    ax.set(
        xlabel=f"first direction, {100 * share[0]:.0f} % of the variance [noise]",
        ylabel=f"second direction, {100 * share[1]:.0f} % [noise]",
        title=f"Whitened fingerprints; edges: coherence above {ALIKE:g}",
    )


def _away(dot: np.ndarray, taken: np.ndarray) -> tuple[float, float]:
    """Where the label of a dot goes, in points: to the side on which its middle is furthest from dots and edges."""
    span = np.ptp(taken, axis=0)
    others = taken[np.any(taken != dot, axis=1)] / span

    def free(side: tuple[int, int]) -> float:
        middle = dot / span + np.array([0.1 * side[0], 0.035 * side[1]])
        return float(np.min(np.linalg.norm((others - middle) / np.array([1, 0.6]), axis=1)))

    right, up = max(((1, 1), (1, -1), (-1, 1), (-1, -1)), key=free)
    return 7 * right, 9 * up


def _table(fig: Figure, ax: Axes, record: Mapping[str, Any]) -> None:
    """Raw coherence above the diagonal, whitened below it; neighbours on the map stand beside each other."""
    order = np.argsort(np.array(record["map"])[:, 0])
    raw, white = (np.array(record[key])[np.ix_(order, order)] for key in ("raw", "whitened"))
    both = np.where(np.triu(np.ones_like(raw), 1) > 0, raw, white)
    np.fill_diagonal(both, np.nan)
    drawn = ax.imshow(both, cmap="cividis", vmin=0, vmax=1)
    names = [record["components"][k] for k in order]
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.grid(False)
    for i, j in np.argwhere(np.isfinite(both)):
        colour = "white" if both[i, j] < 0.6 else INK
        ax.text(j, i, f"{100 * both[i, j]:.0f}", ha="center", va="center", fontsize=7, color=colour)
    ax.set(title="Coherence × 100: raw above, whitened below", xlabel="substance", ylabel="substance")
    fig.colorbar(drawn, ax=ax, shrink=0.82, pad=0.02, label="coherence")


def fingerprint_caption(record: Mapping[str, Any]) -> Caption:
    """The words under it."""
    counts = record["recordings"]
    white = np.array(record["whitened"])
    pairs = white[np.triu_indices(len(white), 1)]
    return Caption(
        f"Fingerprints of {len(counts)} substances on {len(record['channels'])} sensors",
        f"Median traces of {sum(counts)} pure, measured training recordings ({min(counts)} to {max(counts)} of each "
        "substance, in brackets), in logarithms of the conductance. Whitened: without the mean fingerprint, in units "
        "of the noise between recordings of the same substance. An edge joins two whose whitened coherence is above "
        f"{ALIKE:g} ({int(np.sum(pairs > ALIKE))} of {len(pairs)} pairs; dashed: opposite directions, which the "
        f"coherence counts, too). Largest coherence: {record['mu_raw']:.3f} raw, {record['mu_whitened']:.3f} whitened; "
        f"Theorem 1 guarantees {record['guaranteed']} component(s).",
        "The noise is that between sessions, so that fewer sessions, or levels that are corrected for them, move the "
        "map. A fifth sensor that answers differently would lower the coherence of the pairs that are joined.",
    )

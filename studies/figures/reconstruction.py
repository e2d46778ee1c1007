"""Measured traces of an unseen mixture, two ways to rebuild them, and what each leaves."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.caption import Caption
from studies.figures.reconstructed import MODELS
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["draw_reconstruction", "reconstruction_caption"]

_COLOURS = dict(zip(MODELS, (PALETTE[0], PALETTE[5], PALETTE[1], MUTED), strict=True))
_DASHES = dict(zip(MODELS, ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (1, 3))), strict=True))


def draw_reconstruction(record: Mapping[str, Any]) -> Figure:
    """Traces above, residual maps below, and the residuals of all recordings."""
    channels, time = record["channels"], np.array(record["time_s"])
    with figure_style():
        fig = plt.figure(figsize=(11, 7.6), layout="constrained")
        grid = fig.add_gridspec(2, len(channels), height_ratios=(1, 1.15))
        for m, name in enumerate(channels):
            _trace(fig.add_subplot(grid[0, m]), record, m, time, name)
        below = grid[1, :].subgridspec(1, 2, width_ratios=(1.55, 1))
        _maps(fig, below[0].subgridspec(len(MODELS), 1), record, time)
        _all(fig.add_subplot(below[1]), record)
        handles, names = fig.axes[0].get_legend_handles_labels()
        fig.legend(handles, names, loc="outside upper center", ncols=5, fontsize=10)
    return fig


def _trace(ax: Axes, record: Mapping[str, Any], m: int, time: np.ndarray, name: str) -> None:
    ax.plot(time, np.array(record["measured"])[:, m], color="#b5b5b5", lw=5, label="measured")
    for model in MODELS:
        made = np.array(record["rebuilt"][model])[:, m]
        ax.plot(time, made, color=_COLOURS[model], ls=_DASHES[model], lw=1.9, label=model)
    ax.set(title=name, xlabel="time [s]", xlim=(0, time[-1]))
    ax.margins(y=0.25)
    ax.set_ylabel("signal [sd of training]" if m == 0 else "signal [sd]")


def _maps(fig: Figure, grid: Any, record: Mapping[str, Any], time: np.ndarray) -> None:
    """Residuals, one map for each model, all in the same colours."""
    left = {name: np.array(record["measured"]) - np.array(record["rebuilt"][name]) for name in MODELS}
    top = max(float(np.quantile(np.abs(part), 0.98)) for part in left.values()) or 1.0
    axes = []
    for k, (name, part) in enumerate(left.items()):
        ax = fig.add_subplot(grid[k])
        edges = (float(time[0]), float(time[-1]), len(record["channels"]) - 0.5, -0.5)
        drawn = ax.imshow(
            part.T, aspect="auto", cmap="PuOr", vmin=-top, vmax=top, extent=edges, interpolation="nearest"
        )
        ax.set_yticks(range(len(record["channels"])), record["channels"], fontsize=8)
        ax.set_title(f"Residual map: {name}", fontsize=9.5)
        ax.grid(False)
        ax.tick_params(labelbottom=k == len(MODELS) - 1)
        axes.append(ax)
    axes[-1].set_xlabel("time [s]")
    fig.colorbar(drawn, ax=axes, label="measured − rebuilt [sd of training]", shrink=0.9, pad=0.015)


def _all(ax: Axes, record: Mapping[str, Any]) -> None:
    """RMS residual of every recording, with the value over all of them and the median."""
    rng = np.random.default_rng(0)
    for k, name in enumerate(MODELS):
        values = np.array(record["rms_recordings"][name])
        total, middle = _summary(record, name)
        ax.plot(values, k + rng.uniform(-0.16, 0.16, len(values)), "o", ms=3.5, color=_COLOURS[name], alpha=0.55, mew=0)
        ax.plot([total, total], [k - 0.3, k + 0.3], color=INK, lw=2, label="" if k else "RMS of all")
        ax.plot(middle, k, "D", color="white", mec=INK, mew=1.4, ms=6.5, label="" if k else "median")
        ax.annotate(f"{total:.3f}", (total, k - 0.33), ha="center", va="bottom", fontsize=9, color=INK)
    ax.set_yticks(range(len(MODELS)), [name.replace(", ", ",\n") for name in MODELS], fontsize=9)
    ax.set(ylim=(len(MODELS) - 0.4, -0.65), xlabel="RMS residual [sd of training]", xscale="log")
    ax.set_title(f"All {record['recordings']} recordings")
    ax.legend(fontsize=8.5, loc="upper left")


def _summary(record: Mapping[str, Any], name: str) -> tuple[float, float]:
    """RMS over all recordings, and the median of theirs."""
    values = np.array(record["rms_recordings"][name])
    return float(np.sqrt(np.mean(values**2))), float(np.median(values))


def reconstruction_caption(record: Mapping[str, Any]) -> Caption:
    """The words under it."""
    told = "; ".join("{} {:.3f} ({:.3f})".format(name, *_summary(record, name)) for name in MODELS)
    return Caption(
        f"An unseen mixture rebuilt ({record['label']})",
        "Signals are logarithms of the conductance, in standard deviations of training. The recording is the one whose "
        f"residual of UnMixNet is the median of the {record['recordings']} clean unseen recordings; its first window "
        f"is drawn. UnMixNet ({record['unmixnet']}) gets the first sample, the mixture that its encoder inferred and "
        "bounded coefficients; its solver makes the rest. ADR-GNN "
        f"(trained for {record['adr_gnn_epochs']} epochs) rebuilds nothing by itself: ridge projections from its "
        "hidden states to the trace were fitted on training recordings only. The state of each moment holds the last "
        "samples, so that this projection nearly copies them; from the last state alone it has to know the whole "
        f"window. RMS residual over all recordings, median in brackets: {told}.",
        "A small residual speaks for the physics only where it is below that of the first sample held, and most of "
        "these traces hardly move within a window. Recordings with an onset could tell more; so could a solver that "
        "has to find the level by itself.",
    )

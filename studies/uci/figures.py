"""Pictures of the UCI tables: inferred beside commanded concentrations, forecasts beside traces."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from studies.uci.episodes import Split
from studies.uci.estimates import GasEstimate
from studies.uci.plateau_fit import SETTLED_S, scaled
from studies.uci.plateau_table import FittedTable
from studies.uci.trace_table import LAW, Forecast
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["draw_dynamic", "draw_plateaus", "draw_traces"]


DRAWN = (
    "extra-trees",
    "competitive adsorption, quasi-steady",
    "SmellNet-pretrained UnMixNet, whole state",
    "SmellNet-pretrained ADR-GNN, whole state",
)
"""Models of the dynamic table that are drawn: all of them would hide each other."""


def draw_plateaus(done: FittedTable, path: Path) -> Path:
    """Fitted and measured log conductance, and inferred against commanded concentrations of both gases."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure_style():
        fig, axes = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
        _fitted(axes[0], done)
        settled = done.rest.duration_s >= SETTLED_S
        for g, gas in enumerate(done.rest.gases):
            ax = axes[1 + g]
            true, inferred, sd = (a[:, g] for a in (done.rest.exposure_ppm, done.inferred.ppm, done.inferred.sd_ppm))
            top = 1.08 * max(true.max(), inferred.max())
            ax.plot([0, top], [0, top], color=MUTED, lw=1)
            style = {"fmt": "o", "ms": 4, "lw": 1}
            ax.errorbar(true[settled], inferred[settled], sd[settled], color=PALETTE[g], label="settled", **style)
            ax.errorbar(true[~settled], inferred[~settled], sd[~settled], color=PALETTE[5], label="under 30 s", **style)
            ax.set(
                title=f"{gas.capitalize()}, rows that were not fitted",
                xlabel="commanded [ppm]",
                ylabel="inferred [ppm]",
            )
            ax.legend()
        fig.savefig(path)
        plt.close(fig)
    return path


def _fitted(ax: Axes, done: FittedTable) -> None:
    """Every settled reading of the fitted rows against the law, one colour for each type of sensor."""
    x = done.law.exchange.along(scaled(done.fitted), done.fitted.duration_s)
    law = done.law.log_conductance(x, done.fitted.start_s)
    settled = done.fitted.duration_s >= SETTLED_S
    y = np.log(done.fitted.readings)
    for k, name in enumerate(("TGS2602", "TGS2600", "TGS2610", "TGS2620")):
        chosen = np.arange(16) // 2 % 4 == k
        ax.plot(y[settled][:, chosen].ravel(), law[settled][:, chosen].ravel(), ".", ms=2, color=PALETTE[k], label=name)
    ax.plot([6, 8.7], [6, 8.7], color=MUTED, lw=1)
    ax.set(title="Rows that were fitted", xlabel="measured ln G [25 nS]", ylabel="law")
    ax.legend(markerscale=4)


def draw_traces(forecasts: Sequence[Forecast], path: Path) -> Path:
    """Traces with the law: fitted to the left of the line, forecast to its right."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure_style():
        fig, axes = plt.subplots(len(forecasts), 1, figsize=(12, 3.6 * len(forecasts)), layout="constrained")
        for ax, done in zip(np.atleast_1d(axes), forecasts, strict=True):
            start, cut = float(done.fitted.time_s[0]), float(done.rest.time_s[0])
            shown = done.trace.between(start, np.inf)
            every = max(len(shown.time_s) // 3000, 1)
            grid = np.linspace(start, float(done.trace.time_s[-1]), 1500)
            curve = done.law.forecast(done.trace.programme, grid, dt_s=0.5)
            for m, sensor in enumerate(done.trace.sensors):
                ax.plot(shown.time_s[::every], shown.readings[::every, m], color=INK, lw=1)
                ax.plot(grid, curve[:, m], color=PALETTE[m], label=sensor, lw=1.4)
            lag = done.values["linear lag"]
            few = slice(None, None, max(len(lag) // 800, 1))
            for m in range(len(done.trace.sensors)):
                label = "linear lag" if m == 0 else None
                ax.plot(done.rest.time_s[few], lag[few, m], color=MUTED, lw=1, ls=(0, (2, 2)), label=label)
            ax.axvline(cut, color=PALETTE[5], lw=1)
            ax.set(title=f"{done.name}: measured (black) and {LAW}", xlabel="time [s]", ylabel="reading [25 nS]")
            ax.legend(ncols=5, fontsize=8)
        fig.savefig(path)
        plt.close(fig)
    return path


def draw_dynamic(shown: Sequence[tuple[Split, GasEstimate]], path: Path, *, seconds: float = 2400.0) -> Path:
    """Concentrations of one split over some time: commanded, delayed, and estimated by each model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure_style():
        fig, axes = plt.subplots(2, 1, figsize=(12, 6.4), sharex=True, layout="constrained")
        for g, ax in enumerate(axes):
            for k, (split, estimate) in enumerate([pair for pair in shown if pair[1].model in DRAWN]):
                series, ends = split.test.series, split.test.ends
                time_s = series.time_s[ends]
                inside = time_s < time_s[0] + seconds
                if k == 0:
                    truth = series.delayed(ends, estimate.delay_s)[inside, g]
                    ax.plot(time_s[inside], truth, color=INK, lw=1, label="commanded, delayed")
                    ax.set(title=series.gases[g].capitalize(), ylabel="ppm")
                ax.plot(
                    time_s[inside],
                    estimate.ppm[inside, g],
                    color=PALETTE[(0, 5, 2, 1)[k % 4]],
                    lw=1.1,
                    label=estimate.model,
                )
        axes[1].set_xlabel("time [s]")
        fig.legend(*axes[0].get_legend_handles_labels(), fontsize=8, ncols=5, loc="outside lower center")
        fig.savefig(path)
        plt.close(fig)
    return path

"""The fit report: what the simulator explains, beside laws without physics, and what no recording determines."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style
from unmixnet.training.calibration.setup import Recordings

__all__ = ["draw_determined", "draw_explained", "draw_traces", "report_text"]

_WAYS = {
    "none": "recipe alone",
    "session": "levels of known sessions",
    "references": "levels from 3 references",
    "all": "all nuisances as fitted",
}


def report_text(values: dict[str, Any]) -> str:
    """Markdown, from the values of report.json."""
    head = [
        f"# Calibration on {values['protocol']}",
        "",
        f"Frozen simulator `{values['sha256'][:16]}…`, calibrated on {values['recordings']} training recordings "
        f"({values['pure']} of one substance) of {values['sessions']} sessions, {values['seconds']:g} s of each, "
        f"which start {'in clean air' if values['start'] == 'clean air' else 'with the odour present'}.",
        "",
        "Of the variance, "
        + ", ".join(f"{100 * v:.1f} % ({name})" for v, name in zip(values["within"], values["channels"], strict=True))
        + " lies within recordings; the rest is between them.",
        "",
        "## Share of variance explained",
        "",
        "1 − Σ(Y − Ŷ)²/Σ(Y − Ȳ)² with the mean level Ȳ of the training recordings. *Recipe alone* is honest: "
        "no strength, gain or offset of the recording or its session was used. All laws have the same nuisances.",
        "",
    ]
    return "\n".join(
        [
            *head,
            *score_table(values),
            "",
            "![Variance explained](explained.png)",
            "",
            "## What the recordings determine",
            "",
            *group_table(values),
            "",
            "Directions of which the recordings took less than half of the prior's variance, by what they move most:",
            "",
            *(f"- {text}" for text in values["untold"]),
            "",
            "![Standard errors](determined.png)",
            "",
            "## Stages",
            "",
            "| stage | recordings | iterations | rms of what is left | in Ω |",
            "|---|---|---|---|---|",
            *(
                f"| {row['stage']} | {row['recordings']} | {row['iterations']} | {row['rms']:.3f} "
                f"| {'yes' if row['in omega'] else 'NO'} |"
                for row in values["stages"]
            ),
            "",
            f"L_phys {values['closure']['L_phys']:.1e}, flux residual {values['closure']['MS residual']:.1e}, "
            f"mass error {values['closure']['mass error']:.1e}: rounding, because the solver is the balance.",
            "",
            "![Traces](traces.png)",
            "",
        ]
    )


def score_table(values: dict[str, Any]) -> list[str]:
    """One row for each law, place and way to set levels."""
    sensors = values["channels"]
    rows = [
        f"| {row['where']} | {_WAYS[row['levels']]} | {row['law']} | {row['recordings']} "
        f"| {row['total']:.3f} [{row['lo']:.3f}, {row['hi']:.3f}] | "
        + " | ".join(f"{value:.3f}" for value in row["sensors"])
        + " |"
        for row in sorted(values["scores"], key=_order)
    ]
    return [
        "| where | levels | law | recordings | all sensors | " + " | ".join(sensors) + " |",
        "|---|---|---|---|---|" + "---|" * len(sensors),
        *rows,
    ]


def group_table(values: dict[str, Any]) -> list[str]:
    """Coefficients by group: how many are determined."""
    rows = [
        f"| {row['group']} | {row['entries']} | {row['determined']} | {row['weak']} | {row['not determined']} "
        f"| {row['se']:.2f} | {row['before']:.2f} |"
        for row in values["groups"]
    ]
    return [
        "| coefficient | entries | determined | weak | not determined | median se (log) | before |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]


def _order(score: dict[str, Any]) -> tuple[int, ...]:
    places = ("in sample", "test", "new sessions", "new sessions, rest")
    return places.index(score["where"]), list(_WAYS).index(score["levels"])


_LAWS = ("physics", "linear", "pure mean", "constant")


def draw_explained(values: dict[str, Any], path: Path) -> None:
    """R² of every law by place; the recipe alone is filled, levels of sessions are outlined."""
    scores = values["scores"]
    places = list(dict.fromkeys((row["where"], row["levels"]) for row in scores if row["levels"] != "all"))
    with figure_style():
        figure, axis = plt.subplots(figsize=(7.2, 0.62 * len(places) + 1.2))
        for k, (where, levels) in enumerate(places):
            for j, law in enumerate(_LAWS):
                row = next((s for s in scores if (s["where"], s["levels"], s["law"]) == (where, levels, law)), None)
                if row is None:
                    continue
                y = k + 0.18 * (j - 1.5)
                axis.plot([row["lo"], row["hi"]], [y, y], color=PALETTE[j], lw=1.4)
                axis.plot(row["total"], y, "o", color=PALETTE[j], ms=5, label=law if k == 0 else None)
        axis.set_yticks(range(len(places)), [f"{where}\n{_way(levels)}" for where, levels in places])
        axis.invert_yaxis()
        axis.axvline(0, color=MUTED, lw=1)
        lows = [row["lo"] for row in scores if row["levels"] != "all"]
        axis.set_xlim(max(min(lows) - 0.05, -1.0), 1)
        axis.set_xlabel("share of variance explained, 95 % over recordings")
        axis.grid(axis="y", visible=False)
        axis.legend(ncol=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        _saved(figure, path)


def draw_determined(values: dict[str, Any], path: Path) -> None:
    """Standard error of every coefficient over what it was before: one means not determined."""
    groups = list(dict.fromkeys(row["group"] for row in values["estimates"]))
    colours = {"determined": PALETTE[2], "weak": PALETTE[1], "not determined": MUTED}
    with figure_style():
        figure, axis = plt.subplots(figsize=(7.2, 0.27 * len(groups) + 1.2))
        rng = np.random.default_rng(0)
        for k, group in enumerate(groups):
            mine = [row for row in values["estimates"] if row["group"] == group]
            y = k + rng.uniform(-0.22, 0.22, len(mine)) * (len(mine) > 1)
            x = [row["se"] / row["before"] for row in mine]
            axis.scatter(x, y, s=9, color=[colours[row["verdict"]] for row in mine], linewidths=0, alpha=0.8)
        for verdict, colour in colours.items():
            axis.scatter([], [], s=16, color=colour, label=verdict)
        axis.set_yticks(range(len(groups)), groups)
        axis.invert_yaxis()
        axis.axvline(1, color=INK, lw=0.8)
        axis.set_xscale("log")
        axis.set_xlabel("standard error over that of the prior")
        axis.legend(ncol=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        _saved(figure, path)


def draw_traces(
    recordings: Recordings, guess: np.ndarray, channels: tuple[str, ...], step_s: float, path: Path
) -> None:
    """Six recordings (solid) and the simulator's predictions from their recipes (dashed)."""
    chosen = np.linspace(0, len(recordings) - 1, min(6, len(recordings))).astype(int)
    time_s = step_s * np.arange(1, recordings.Y.shape[1] + 1)
    with figure_style():
        figure, axes = plt.subplots(2, 3, figsize=(8.4, 4.6), sharex=True, sharey=True, squeeze=False)
        for axis, i in zip(axes.ravel(), chosen, strict=False):
            for m, channel in enumerate(channels):
                colour = PALETTE[m % len(PALETTE)]
                axis.plot(time_s, recordings.Y[i, :, m], color=colour, label=channel)
                axis.plot(time_s, guess[i, :, m], color=colour, ls=(0, (3, 2)), lw=1.3)
            axis.set_title(_short(recordings.names[i]), fontsize=7.5, fontweight="normal")
        for axis in axes[-1]:
            axis.set_xlabel("time [s]")
        for axis in axes[:, 0]:
            axis.set_ylabel("signal [sd]")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, ncol=len(channels), loc="upper center", bbox_to_anchor=(0.5, 1.04))
        figure.tight_layout()
        _saved(figure, path)


def _way(levels: str) -> str:
    return {"none": "recipe alone", "session": "known sessions", "references": "3 references"}[levels]


def _short(name: str) -> str:
    stem = Path(name).stem
    return stem if len(stem) <= 34 else stem[:33] + "…"


def _saved(figure: Any, path: Path) -> None:
    figure.savefig(path)
    plt.close(figure)

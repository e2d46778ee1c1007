"""Pictures of an audit, each as SVG text that stands in a page by itself."""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unmixnet.recordings.audit.report import AuditReport, FileVerdict, Kind, Leak
from unmixnet.recordings.recording import Recording

__all__ = ["draw_composition", "draw_leaks", "draw_pair", "draw_timeline"]

COLOURS = {
    "measured": "#0b7a75",
    "exact copy": "#f2b134",
    "altered copy": "#e4572e",
    "white noise": "#8d5a97",
    "computed, parent unknown": "#9b9b9b",
}
_SPLIT_COLOURS = ("#d1495b", "#edae49", "#0b7a75", "#30638e", "#8d5a97", "#5f5f5f")
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "unmixnet",
}


def draw_composition(report: AuditReport) -> str:
    """One bar for each part of the data set: what its files are."""
    splits = report.splits
    counts = {name: [_share(report, split.name, name) for split in splits] for name in COLOURS}
    with matplotlib.rc_context(_STYLE):
        figure, axes = _canvas(9.0, 0.9 + 0.5 * len(splits))
        left = np.zeros(len(splits))
        for name, values in counts.items():
            if not any(values):
                continue
            bars = axes.barh(range(len(splits)), values, left=left, color=COLOURS[name], label=name, height=0.62)
            labels = [str(v) if v > 0.03 * max(split.files for split in splits) else "" for v in values]
            axes.bar_label(bars, labels=labels, label_type="center", color="white", fontsize=9)
            left += values
        axes.set_yticks(range(len(splits)), [f"{split.name}\n{split.files} files" for split in splits])
        axes.invert_yaxis()
        axes.set_xlabel("files")
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.32), ncols=5, frameon=False, fontsize=9)
        return _svg(figure)


def draw_timeline(report: AuditReport) -> str:
    """When each measured recording was made, one row for each part of the data set, sessions shaded."""
    timed = [verdict for verdict in report.verdicts if verdict.clean and verdict.time_h is not None]
    splits = [split.name for split in report.splits if any(v.split == split.name for v in timed)]
    with matplotlib.rc_context(_STYLE):
        figure, axes = _canvas(9.0, 1.2 + 0.42 * len(splits))
        for session in report.sessions:
            if session.start_h is None or session.end_h is None:
                continue
            axes.axvspan(session.start_h / 24 - 0.12, session.end_h / 24 + 0.12, color="#e8eef2", lw=0)
            middle = (session.start_h + session.end_h) / 48
            axes.text(middle, -0.72, str(session.number + 1), ha="center", va="bottom", fontsize=8, color="#555")
        for row, name in enumerate(splits):
            days = [verdict.time_h / 24 for verdict in timed if verdict.split == name and verdict.time_h is not None]
            colour = _SPLIT_COLOURS[row % len(_SPLIT_COLOURS)]
            axes.plot(days, np.full(len(days), row), "|", color=colour, ms=16, mew=0.8)
        axes.set_yticks(range(len(splits)), splits)
        axes.set_ylim(len(splits) - 0.5, -0.95)
        axes.set_xlabel("days since the first recording (numbers above: sessions)")
        return _svg(figure)


def draw_pair(child: Recording, parent: Recording, verdict: FileVerdict) -> str:
    """A computed file over the recording it was made from, every channel by itself."""
    M = min(len(parent.channels), 4)
    lag = verdict.lag_s or 0.0
    noise = verdict.kind is Kind.WHITE_NOISE
    colour = COLOURS["white noise" if noise else "altered copy"]
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(9.0, 2.3), layout="constrained")
        for m, axes in enumerate(np.atleast_1d(figure.subplots(1, M))):
            axes.plot(parent.time_s, parent.readings[:, m], color="#9fb3bd", lw=2.6, zorder=3 if noise else 1)
            axes.plot(child.time_s + lag, child.readings[:, m], color=colour, lw=0.8)
            axes.set_title(parent.channels[m], fontsize=10)
            axes.set_xlabel("time [s]")
            axes.set_xlim(parent.time_s[0], parent.time_s[-1])
            if m == 0:
                axes.set_ylabel(parent.units[m])
        return _svg(figure)


def draw_leaks(leaks: Sequence[Leak]) -> str:
    """One bar for each source that should know nothing; the dashed line is a guess that sees nothing."""
    with matplotlib.rc_context(_STYLE):
        figure, axes = _canvas(9.0, 0.9 + 0.42 * len(leaks))
        for row, leak in enumerate(leaks):
            colour = "#9fb3bd" if leak.reference else "#e4572e" if leak.reveals else "#0b7a75"
            axes.barh(row, leak.score, color=colour, height=0.6)
            text = f"{leak.score:.0%}" if leak.metric == "accuracy" else f"{leak.score:.3f}"
            axes.text(leak.score, row, " " + text, va="center", fontsize=9)
        null = leaks[0].null
        axes.axvline(null, color="#333", ls="--", lw=1)
        axes.text(null, -0.62, " knows nothing", fontsize=8, color="#333", va="bottom")
        axes.set_yticks(range(len(leaks)), [_wrap(leak.source) for leak in leaks])
        axes.set_ylim(len(leaks) - 0.5, -0.7)
        better = "share of labels named correctly" if leaks[0].metric == "accuracy" else "mean error of the ratios"
        arrow = "long bars mean the label leaks" if leaks[0].metric == "accuracy" else "short bars mean the label leaks"
        axes.set_xlabel(f"{better} ({arrow})")
        axes.set_xlim(0, max([null, *(leak.score for leak in leaks)]) * 1.15)
        return _svg(figure)


def _share(report: AuditReport, split: str, name: str) -> int:
    members = [verdict for verdict in report.verdicts if verdict.split == split]
    return sum(_bar_of(verdict) == name for verdict in members)


def _bar_of(verdict: FileVerdict) -> str:
    by_kind = {
        Kind.WHITE_NOISE: "white noise",
        Kind.ALTERED_COPY: "altered copy",
        Kind.SUSPECT: "computed, parent unknown",
    }
    if verdict.kind in by_kind:
        return by_kind[verdict.kind]
    return "measured" if verdict.copy_of is None else "exact copy"


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _wrap(text: str, width: int = 38) -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)

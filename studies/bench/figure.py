"""Work–precision plot: error on the horizontal axis, time per sample on the vertical one."""

from pathlib import Path

__all__ = ["draw_work_precision"]


def draw_work_precision(result: dict, path: Path) -> None:
    """One panel per number of odorants; lower left is better."""
    from matplotlib.figure import Figure

    entries = result["work_precision"]
    figure = Figure(figsize=(5.2 * len(entries) + 0.6, 4.4), layout="constrained")
    axes = figure.subplots(1, len(entries), squeeze=False, sharey=True)[0]
    for ax, entry in zip(axes, entries, strict=True):
        _curve(ax, entry["default"], "o-", "#0b6e99", "unmixnet, batch 32, float32", lambda p: str(p["steps"]))
        _curve(ax, entry["radau"], "s--", "#c4500c", "SciPy Radau, one thread", lambda p: f"{p['rtol']:.0e}")
        ax.set(xscale="log", yscale="log", title=f"{entry['odorants']} odorants, 8 cells, 4 sensors, 50 s")
        ax.set_xlabel("largest relative error at the end (readout, moles)")
        ax.grid(True, which="major", alpha=0.3)
        ax.margins(0.12)
    axes[0].set_ylabel("wall time per sample [s]")
    axes[0].legend(frameon=False, loc="lower left")
    figure.suptitle("Numbers at the points: time steps, and Radau's rtol", fontsize=9, color="0.35")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def _curve(ax, points: list[dict], style: str, colour: str, label: str, text) -> None:
    ax.plot([p["error"] for p in points], [p["seconds_per_sample"] for p in points], style, color=colour, label=label)
    for p in points:
        place = (p["error"], p["seconds_per_sample"])
        ax.annotate(text(p), place, (4, 5), textcoords="offset points", fontsize=7, color=colour)

"""The work–precision figure: time per sample against error, lower left is better."""

from pathlib import Path

__all__ = ["draw_work_precision"]

_COLOURS = {
    ("ours", "fixed"): "#0b6e99",
    ("ours", "adaptive"): "#4fb3d9",
    ("before", "first"): "0.55",
    ("radau", "SciPy"): "#c4500c",
}
_PEERS = {"Bosh3": "#b58900", "Tsit5": "#2e8b57", "Dopri8": "#7a5195", "Kvaerno5": "#a05252", "KenCarp4": "#d98880"}
_NAMES = {"ours": "unmixnet, ", "before": "unmixnet before, ", "radau": "", "diffrax": "diffrax "}


def draw_work_precision(result: dict, path: Path) -> None:
    """A row of panels per number of odorants, a column per error."""
    from matplotlib.figure import Figure

    entries, kinds = result["work_precision"], list(result["errors"])
    figure = Figure(figsize=(11.5, 4.3 * len(entries) + 1.1), layout="constrained")
    axes = figure.subplots(len(entries), len(kinds), squeeze=False, sharey="row")
    for row, entry in zip(axes, entries, strict=True):
        for ax, kind in zip(row, kinds, strict=True):
            for series in entry["series"]:
                _curve(ax, series, kind)
            ax.set(xscale="log", yscale="log", title=f"{entry['odorants']} odorants, 8 cells, 4 sensors, 50 s")
            ax.set_xlabel(result["errors"][kind], fontsize=9)
            ax.grid(True, which="major", alpha=0.3)
            # what is coarser or finer than this is of little use, and would squeeze the rest
            ax.set_xlim(max(1e-7, ax.get_xlim()[0]), min(0.3, ax.get_xlim()[1]))
        row[0].set_ylabel("wall time per sample [s]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _curve(ax, series: dict, kind: str) -> None:
    """One method; float64 with open marks and dashes. Our fixed steps carry their number."""
    points, name, group = series["points"], series["name"], series["group"]
    double = name.endswith("float64") and group != "radau"
    method = name.split(",")[0].split()[0]
    colour = _PEERS[method] if group == "diffrax" else _COLOURS[group, method]
    style = {"marker": "o" if group == "ours" else "s", "ms": 4.5, "lw": 1.8 if group == "ours" else 1.1}
    style |= {"ls": "--" if double else "-", "mfc": "white" if double else colour, "color": colour}
    errors, cost = ([p[key] for p in points] for key in (kind, "seconds_per_sample"))
    ax.plot(errors, cost, label=_NAMES[group] + name, zorder=3 if group == "ours" else 2, **style)
    if name == "fixed steps, float32":
        for p in points:
            text, place = f"{p['setting']:g}", (p[kind], p["seconds_per_sample"])
            ax.annotate(text, place, (-4, -9), textcoords="offset points", ha="right", fontsize=7, color=colour)

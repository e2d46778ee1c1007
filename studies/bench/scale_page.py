"""The figure and the numbers of docs/scale.md, from studies/results/scale.json.

    python -m studies.bench.scale_page

draws docs/img/scale.png and rewrites the parts of the page between `<!-- scale NAME -->` and `<!-- end -->`.
"""

import re
from pathlib import Path
from typing import Any

from studies.tables.markdown import RESULTS, read_record

__all__ = ["PAGE", "draw", "filled", "write_page"]

ROOT = Path(__file__).parents[2]
PAGE, FIGURE = ROOT / "docs" / "scale.md", ROOT / "docs" / "img" / "scale.png"
_PLACE = re.compile(r"(<!-- scale (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
YEAR_S = 365.25 * 86400
_FLEETS = (("1,000 boards", 1_000), ("a million boards", 1_000_000))
_UNITS = {
    "cells": "cells",
    "odorants": "odorants",
    "sensors": "sensors",
    "steps": "steps",
    "batch": "samples in a batch",
}


def filled(page: str, record: dict) -> str:
    """The page with every number made anew."""
    made = {"cost": _cost, "sizing": _sizing, "solver": _solver, "step": _step, "front": _front, "source": _source}
    return _PLACE.sub(lambda match: match[1] + "\n".join(made[match[2]](record)) + "\n" + match[3], page)


def _cost(record: dict) -> list[str]:
    archive = record["archive"]
    stages = ", ".join(f"{name} {100 * share:.0f} %" for name, share in archive["stages"].items())
    each = archive["bytes_per_sample"]
    per_sample = archive["bytes_per_window"] * archive["windows"] / archive["rows"]
    return [
        "| one core, one thread | |",
        "|---|---|",
        f"| windows per second | {archive['windows_per_second']:.3g} |",
        f"| samples per second (a sample: {archive['channels']} channels at one time; a window every "
        f"{archive['stride_s']:g} s of {archive['rate_Hz']:g} Hz) | {archive['samples_per_second']:,.0f} |",
        f"| times faster than the recording | {archive['samples_per_second'] / archive['rate_Hz']:,.0f} |",
        f"| bytes of a sample as text, as Parquet | {each['csv']:.1f}, {each['parquet']:.1f} |",
        f"| bytes of an answered window, and per sample | {archive['bytes_per_window']:.0f}, {per_sample:.2f} |",
        f"| peak memory of a worker, MB | {archive['peak_MB']:.0f} |",
        "",
        f"Model {archive['model']}. Where the time goes, by a profile, which overstates Python's own share: {stages}.",
    ]


def _sizing(record: dict) -> list[str]:
    archive = record["archive"]
    out = archive["bytes_per_window"] * archive["windows"] / archive["rows"]
    lines = [
        f"| {archive['rate_Hz']:g} Hz, {archive['channels']} channels | samples in a year | processor time for "
        "a year of them | cores to keep up | a year as Parquet | its answers |",
        "|---|---|---|---|---|---|",
    ]
    for name, boards in _FLEETS:
        samples = boards * archive["rate_Hz"] * YEAR_S
        seconds = samples / archive["samples_per_second"]
        terabytes = [samples * each / 1e12 for each in (archive["bytes_per_sample"]["parquet"], out)]
        lines.append(
            f"| {name} | {samples:.2g} | {_amount(seconds / YEAR_S)} core-years "
            f"| {_amount(boards * archive['rate_Hz'] / archive['samples_per_second'])} "
            f"| {_amount(terabytes[0])} TB | {_amount(terabytes[1])} TB |"
        )
    return lines


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _solver(record: dict) -> list[str]:
    lines = [
        "| varied | from … to | seconds | exponent p | bend | largest misfit of a + b nᵖ |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_axis(name, _UNITS[name], axis) for name, axis in record["solver"].items()]
    lines += [_axis(name, f"{_UNITS[name]}, plain sums", axis) for name, axis in record["plain_sums"].items()]
    base = ", ".join(f"{name} {value}" for name, value in record["base"].items())
    return [*lines, "", f"Forward rollouts in float32 on one thread; what is not varied: {base}."]


def _axis(name: str, title: str, axis: dict) -> str:
    rows, fit = axis["rows"], axis["fit"]
    first, last = rows[0], rows[-1]
    bend = _amount(fit["bend"]) if first[name] < fit["bend"] < last[name] else "outside"
    return (
        f"| {title} | {first[name]:,} … {last[name]:,} | {first['seconds']:.2g} … {last['seconds']:.2g} "
        f"| {fit['exponent']:.2f} | {bend} | {100 * fit['largest_misfit']:.0f} % |"
    )


def _step(record: dict) -> list[str]:
    """Where plain sums gain most, on each axis that has a step."""
    gains = []
    for name, axis in record["plain_sums"].items():
        pairs = zip(record["solver"][name]["rows"], axis["rows"], strict=True)
        usual, plain = max(pairs, key=lambda pair: pair[0]["seconds"] / pair[1]["seconds"])
        gains.append(
            f"{usual[name]:,} {_UNITS[name]} take {1e3 * usual['seconds']:.0f} ms, with plain sums "
            f"{1e3 * plain['seconds']:.0f} ms"
        )
    return [f"Measured where it matters most: {'; '.join(gains)}."] if gains else ["Not measured yet."]


def _front(record: dict) -> list[str]:
    clean, usual = record["front"]["clean"], record["front"]["background"]
    solves = clean["edges"] * clean["steps"]
    return [
        f"From clean air the same rollout takes {clean['seconds'] / usual['seconds']:.1f} times as long: "
        f"{100 * clean['direct_solves'] / solves:.0f} % of its {solves:,} edge solves are direct ones, against "
        f"{100 * usual['direct_solves'] / solves:.0f} % in air with a background of 10 ppm."
    ]


def _source(record: dict) -> list[str]:
    machine = record["machine"]
    few = (
        f" Few rounds, on a machine that had other work (load {record['load']:g} on {machine['cores']} cores): "
        "processor time is less disturbed by that than the clock, but it is."
        if record["rounds"] < 5 or record["load"] > 1
        else ""
    )
    return [
        f"`{record['command']}`, commit {record['commit']}, {record['date']}, {machine['processor']}, "
        f"jax {machine['jax']}; processor time of one thread: of the archive once, of the solver the best of "
        f"{record['rounds']} rounds or more (one where a call takes over 5 s).{few}"
    ]


def draw(record: dict, path: Path = FIGURE) -> None:
    """One panel per axis: measured points, the fit, its growing part, and the bend; in the last panel what is what."""
    from matplotlib.figure import Figure

    axes = record["solver"]
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    panels = figure.subplots(2, 3, sharey=True).ravel()
    every = [row["seconds"] for axis in axes.values() for row in axis["rows"]]
    for panel, (name, axis) in zip(panels, axes.items(), strict=False):
        _panel(panel, name, axis, record["plain_sums"].get(name))
        panel.set_ylim(min(every) / 2, 2 * max(every))
    for panel in panels[::3]:
        panel.set_ylabel("processor seconds of a rollout")
    legend = panels[-1]
    legend.axis("off")
    base = "one is varied, the others are\n" + "\n".join(f"{name} {value}" for name, value in record["base"].items())
    handles, labels = panels[0].get_legend_handles_labels()
    legend.legend(handles, labels, loc="upper left", frameon=False)
    legend.text(0.06, 0.02, base, transform=legend.transAxes, color="0.35", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _panel(panel: Any, name: str, axis: dict, plain: dict | None) -> None:
    import numpy as np

    n, t = (np.array([row[key] for row in axis["rows"]], float) for key in (name, "seconds"))
    fit, fine = axis["fit"], np.geomspace(n.min(), n.max(), 200)
    growing = fit["b"] * fine ** fit["exponent"]
    title = f"{_UNITS[name]}: exponent {fit['exponent']:.2f}"
    panel.plot(n, t, "o", color="#0b6e99", ms=5, label="measured")
    panel.plot(fine, fit["a"] + growing, "-", color="#0b6e99", lw=1.4, label="a + b nᵖ")
    panel.plot(fine, growing, ":", color="0.6", lw=1, label="b nᵖ")
    if plain:
        seconds = [row["seconds"] for row in plain["rows"]]
        panel.plot(n, seconds, "o-", color="#c4500c", ms=5, mfc="white", lw=0.8, label="measured, plain sums")
        title += f", plain sums {plain['fit']['exponent']:.2f}"
    if n.min() < fit["bend"] < n.max():
        panel.axvline(fit["bend"], color="0.35", lw=0.9, ls="--", label="bend: both parts equal")
    panel.set(xscale="log", yscale="log", xlabel=_UNITS[name])
    panel.set_title(title, fontsize=10)
    panel.grid(True, alpha=0.25)


def write_page(record: dict) -> None:
    if PAGE.is_file():
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")


if __name__ == "__main__":
    stored = read_record(RESULTS / "scale.json")
    draw(stored)
    write_page(stored)

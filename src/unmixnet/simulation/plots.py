"""One figure of a simulation: chamber, concentration, flux, coverage, readout and where the moles went."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style
from unmixnet.simulation.simulate import Simulated

__all__ = ["draw_simulation"]

_LEVEL = 9
"""Names of more cells than this are turned, so that they do not overlap."""


def draw_simulation(result: Simulated, path: str | Path, *, title: str = "") -> Path:
    """Draw the figure and write it as PNG."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure_style():
        fig, axes = plt.subplots(2, 3, figsize=(14, 7.4), layout="constrained")
        _chamber(axes[0, 0], result)
        _concentration(axes[0, 1], result)
        _flux(axes[0, 2], result)
        _coverage(axes[1, 0], result)
        _readout(axes[1, 1], result)
        _ledger(axes[1, 2], result)
        for ax in axes.flat[1:]:
            ax.set_xlabel("time [s]")
            ax.set_xlim(0, result.time_s[-1])
        if title:
            fig.suptitle(title, x=0.005, ha="left", fontsize=13, fontweight="bold", color=INK)
        fig.savefig(path)
        plt.close(fig)
    return path


def _colour(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def _places(result: Simulated) -> np.ndarray:
    """Positions of the cells: steps from the first source to the right, spread out where several share a step."""
    chamber = result.chamber
    sources = chamber.cells_of("source")
    start = int(sources[0]) if sources.size else 0
    depth = {start: 0}
    frontier = [start]
    pairs = list(zip(chamber.tail.tolist(), chamber.head.tolist(), strict=True))
    while frontier:
        u = frontier.pop(0)
        for a, b in pairs:
            for v, w in ((a, b), (b, a)):
                if v == u and w not in depth:
                    depth[w] = depth[u] + 1
                    frontier.append(w)
    places = np.zeros((len(chamber.cells), 2))
    for level in set(depth.values()):
        row = [v for v in depth if depth[v] == level]
        places[row, 0] = level
        places[row, 1] = (len(row) - 1) / 2 - np.arange(len(row))
    return places


def _chamber(ax: Any, result: Simulated) -> None:
    rich = _is_rich(result)
    total = (1 if rich else 1e6) * result.mole_fraction[:, :, 1:].sum(axis=2)
    peak = int(np.argmax(np.ptp(total, axis=1)))
    places, chamber = _places(result), result.chamber
    area = np.array([edge.area_m2 for edge in chamber.edges])
    flux = np.abs(result.flux_mol_m2_s[peak, :, 1:]).sum(axis=1) * area
    width = 0.6 + 5 * flux / np.max(flux, initial=1e-300)
    for e, (a, b) in enumerate(zip(chamber.tail, chamber.head, strict=True)):
        ax.plot(*places[[a, b]].T, color="#c9d6e2", lw=width[e], zorder=1)
    size = 380 + 900 * (chamber.volume_m3 / chamber.volume_m3.max()) ** 0.6
    dots = ax.scatter(*places.T, s=size, c=total[peak], cmap="YlGnBu", vmin=0, edgecolors=MUTED, zorder=2)
    for i, cell in enumerate(chamber.cells):
        ax.annotate(
            cell.name,
            places[i],
            (0, -7 - 0.5 * np.sqrt(size[i])),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=7.5,
            rotation=0 if len(chamber.cells) <= _LEVEL else 35,
            color=INK,
        )
    label = f"mole fraction of all but {result.species[0]}" if rich else "odorants [ppm]"
    ax.figure.colorbar(dots, ax=ax, label=label, shrink=0.75, pad=0.02)
    ax.set_title(f"The chamber at its most uneven, t = {result.time_s[peak]:.0f} s")
    ax.margins(0.14, 0.24)
    ax.axis("off")


def _concentration(ax: Any, result: Simulated) -> None:
    chamber = result.chamber
    sources = chamber.cells_of("source")
    source = int(sources[0]) if sources.size else 0
    seat = chamber.index[chamber.sensors[0].cell] if chamber.sensors else len(chamber.cells) - 1
    rich = _is_rich(result)
    for i, name in enumerate(result.species):
        if i == 0 and not rich:
            continue
        colour, fraction = _colour(i - 1) if i else MUTED, (1 if rich else 1e6) * result.mole_fraction[:, :, i]
        ax.plot(result.time_s, fraction[:, source], color=colour, ls=(0, (4, 2)), lw=1.2)
        ax.plot(result.time_s, fraction[:, seat], color=colour, label=name)
    ax.plot([], [], color=MUTED, ls=(0, (4, 2)), lw=1.2, label=f"in {chamber.cells[source].name}")
    ax.plot([], [], color=MUTED, label=f"in {chamber.cells[seat].name}")
    ax.set_title("Concentration")
    ax.set_ylabel("mole fraction" if rich else "mole fraction [ppm]")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8)


def _is_rich(result: Simulated) -> bool:
    """Whether this is a mixture of equals rather than traces in a carrier: then all of it is drawn."""
    return bool(result.mole_fraction[:, :, 1:].sum(axis=2).max() > 0.05)


def _flux(ax: Any, result: Simulated) -> None:
    if not result.chamber.edges:
        _empty(ax, "Maxwell–Stefan flux", "the chamber is one cell")
        return
    edge = int(np.argmax(np.abs(result.flux_mol_m2_s[:, :, 1:]).sum(axis=(0, 2))))
    J = 1e6 * result.flux_mol_m2_s[:, edge]
    for i, name in enumerate(result.species[1:]):
        ax.plot(result.time_s, J[:, i + 1], color=_colour(i), label=name)
    first = result.species[0] + ("" if _is_rich(result) else " (counter-flux)")
    ax.plot(result.time_s, J[:, 0], color=MUTED, ls=(0, (4, 2)), lw=1.4, label=first)
    ax.axhline(0, color=MUTED, lw=0.8)
    where = result.chamber.edges[edge]
    ax.set_title(f"Maxwell–Stefan flux, {where.tail} → {where.head}")
    ax.set_ylabel("J [µmol m⁻² s⁻¹]")
    ax.legend(fontsize=8)


def _empty(ax: Any, title: str, why: str) -> None:
    """A panel that has nothing to show."""
    ax.set_title(title)
    ax.set_yticks([])
    ax.annotate(why, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center", color=MUTED)


def _coverage(ax: Any, result: Simulated) -> None:
    if not result.chamber.sensors:
        _empty(ax, "Coverage of the sensor surfaces", "no sensors")
        return
    ax.set_title("Coverage of the sensor surfaces")
    ax.set_yticks([])
    ax.grid(False)
    for m, sensor in enumerate(result.chamber.sensors):
        floor = len(result.chamber.sensors) - 1 - m
        base = np.full(result.time_s.shape, float(floor))
        for i in range(len(result.species) - 1):
            top = base + 0.85 * result.coverage[:, m, i + 1]
            ax.fill_between(result.time_s, base, top, color=_colour(i), alpha=0.85, lw=0)
            base = top
        ax.axhline(floor, color=MUTED, lw=0.8)
        ax.axhline(floor + 0.85, color="#dddddd", lw=0.8)
        ax.annotate(
            sensor.name, (1, floor + 0.45), (4, 0), ("axes fraction", "data"), "offset points", fontsize=8, va="center"
        )
    ax.set_ylabel("share of sites taken (grey line: full)")
    ax.spines["left"].set_visible(False)


def _readout(ax: Any, result: Simulated) -> None:
    if not result.chamber.sensors:
        _empty(ax, "Readout", "no sensors")
        return
    last = result.readout[-1]
    gap = 0.05 * max(float(np.ptp(result.readout)), 1e-12)
    heights = _spread(last, gap)
    for m, sensor in enumerate(result.chamber.sensors):
        colour = _colour(m + 3)
        ax.plot(result.time_s, result.readout[:, m], color=colour)
        at = (result.time_s[-1], heights[m])
        ax.annotate(sensor.name, at, (4, 0), textcoords="offset points", fontsize=8, color=colour, va="center")
    ax.axhline(0, color=MUTED, lw=0.8)
    ax.set_title("Readout")
    ax.set_ylabel("signal, relative to clean air")


def _spread(values: np.ndarray, gap: float) -> np.ndarray:
    """The values, moved apart so that labels at them do not overlap."""
    spread = values.astype(float).copy()
    order = np.argsort(spread)
    for lower, upper in pairwise(order):
        spread[upper] = max(spread[upper], spread[lower] + gap)
    return spread


def _ledger(ax: Any, result: Simulated) -> None:
    nmol = {
        "in the gas": result.moles[:, :, 1:].sum(axis=(1, 2)),
        "on the sensors": result.reservoirs_mol["adsorbed"][:, 1:].sum(axis=1),
        "on the walls": result.reservoirs_mol["wall"][:, 1:].sum(axis=1),
        "out of the vent": result.reservoirs_mol["outlet"][:, 1:].sum(axis=1),
    }
    shades = ("#9ecae1", "#31a354", "#fdae6b", "#d9d9d9")
    ax.stackplot(
        result.time_s, *(1e9 * moles for moles in nmol.values()), labels=list(nmol), colors=shades, lw=0, alpha=0.95
    )
    come = np.sum([result.reservoirs_mol[k][:, 1:].sum(axis=1) for k in ("source", "inlet", "boundary")], axis=0)
    # what was there before anything came
    there = sum(moles[0] for moles in nmol.values()) - come[0]
    there = there if there > 1e-9 * np.max(there + come) else 0.0
    label = "at the start and released" if there else "released"
    ax.plot(result.time_s, 1e9 * (there + come), color=INK, lw=1.4, label=label)
    worst = float(np.max(result.ledger[:, 1:]))
    gases = "all but " + result.species[0] if _is_rich(result) else "the odorant moles"
    ax.set_title(f"Where {gases} {'is' if _is_rich(result) else 'are'} (imbalance ≤ {worst:.0e})")
    ax.set_ylabel("all but the first gas [nmol]" if _is_rich(result) else "odorants [nmol]")
    ax.legend(fontsize=8, loc="upper left")

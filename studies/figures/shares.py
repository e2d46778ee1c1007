"""Shares and fingerprints: answered against true shares, and a map of the pure substances."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.stored import OURS, AnswerTable, Caption
from unmixnet import metrics
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = [
    "ALIKE",
    "COLOURS",
    "MARKERS",
    "PEER",
    "chance_hit",
    "draw_fingerprints",
    "draw_shares",
    "fingerprint_caption",
    "hits_by_number",
    "label_of",
    "shares_caption",
]

COLOURS = {OURS[0]: PALETTE[0], OURS[1]: PALETTE[2]}
PEER = PALETTE[5]
MARKERS = {OURS[0]: "o", OURS[1]: "s"}
_RESAMPLES = 300


def label_of(model: str) -> str:
    """A model's name in a figure."""
    known = {OURS[0]: "UnMixNet", OURS[1]: "UnMixNet, steady state"}
    return known.get(model, model.replace(" (whole recording)", ", whole"))


def hits_by_number(table: AnswerTable, model: str) -> dict[int, tuple[float, float, float, int]]:
    """Top-P hit of recordings with P components, its interval by resampling supports, and how many there are."""
    guess, truth = table.flat(model)
    held = np.sum(table.truth > 0, axis=1)
    seeds, hits = len(guess) // len(held), {}
    for count in sorted(set(held.tolist())):
        mine = np.tile(held == count, seeds)
        names = [name for name, inside in zip(table.supports * seeds, mine, strict=True) if inside]
        value = metrics.top_k_hit(guess[mine], truth[mine])
        interval = metrics.bootstrap_interval(metrics.top_k_hit, guess[mine], truth[mine], names, resamples=_RESAMPLES)
        hits[int(count)] = (value, interval.lo, interval.hi, int(np.sum(held == count)))
    return hits


def chance_hit(count: int, K: int) -> float:
    """Expected top-P hit of a random order: P/K."""
    return count / K


def draw_shares(tables: Mapping[str, AnswerTable]) -> Figure:
    """One row of panels for each protocol: a scatter for each model, and the recovery of the support."""
    with figure_style():
        most = max(len(table.compared) for table in tables.values())
        fig, axes = plt.subplots(
            len(tables), most + 1, figsize=(3.05 * (most + 1), 3.15 * len(tables)), layout="constrained", squeeze=False
        )
        for row, (name, table) in zip(axes, tables.items(), strict=True):
            for ax in row[len(table.compared) : -1]:
                ax.set_visible(False)
            for ax, model in zip(row, table.compared, strict=False):
                _scatter(ax, table, model, name)
            _recovery(row[-1], table)
        known = {
            name: handle for ax in axes[:, -1] for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)
        }
        fig.legend(list(known.values()), list(known), loc="outside upper center", ncols=4, fontsize=9.5)
    return fig


def _scatter(ax: Axes, table: AnswerTable, model: str, name: str) -> None:
    guess, truth = table.flat(model)
    rng = np.random.default_rng(0)
    there = truth > 0
    x = truth + rng.uniform(-0.012, 0.012, truth.shape)
    ax.plot([0, 1], [0, 1], color=MUTED, lw=1)
    colour = COLOURS.get(model, PEER)
    ax.plot(x[~there], guess[~there], ".", ms=3, color=MUTED, alpha=0.25, mew=0, label="not there")
    ax.plot(x[there], guess[there], "o", ms=4, color=colour, alpha=0.5, mew=0, label="there")
    error = float(table.error(model).mean())
    ax.set_title(f"{name}\n{label_of(model)}: error {error:.3f}", fontsize=9.5)
    ax.set(xlabel="true share", ylabel="answered share", xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))


def _recovery(ax: Axes, table: AnswerTable) -> None:
    K = table.truth.shape[1]
    models = table.compared
    counts: Sequence[int] = []
    for k, model in enumerate(models):
        hits = hits_by_number(table, model)
        counts = list(hits)
        x = np.arange(len(counts)) + 0.16 * (k - (len(models) - 1) / 2)
        value, lo, hi, _ = np.array(list(hits.values())).T
        ax.errorbar(
            x,
            value,
            [np.maximum(value - lo, 0), np.maximum(hi - value, 0)],
            fmt=MARKERS.get(model, "D"),
            color=COLOURS.get(model, PEER),
            ms=5.5,
            lw=1.3,
            label=label_of(model) if model in OURS else "best peer of the table",
        )
    for k, count in enumerate(counts):
        level = chance_hit(count, K)
        ax.plot(
            [k - 0.35, k + 0.35],
            [level, level],
            color=INK,
            lw=1.2,
            ls=(0, (2, 2)),
            label="_" if k else "a random order",
        )
    some = hits_by_number(table, models[0])
    ax.set_xticks(range(len(counts)), [f"{c}\n(n = {some[c][3]})" for c in counts])
    ax.set(xlabel="components", ylabel="share of the support found", ylim=(-0.02, 1.05), xlim=(-0.6, len(counts) - 0.4))
    ax.set_title("Support found", fontsize=9.5)


def shares_caption(tables: Mapping[str, AnswerTable]) -> Caption:
    """The caption."""
    parts = []
    for name, table in tables.items():
        errors = ", ".join(f"{label_of(model)} {table.error(model).mean():.3f}" for model in table.compared)
        null = f", the mean of training {table.error('mean').mean():.3f}" if "mean" in table.guesses else ""
        supports = len(set(table.supports))
        parts.append(f"{name} ({len(table.recordings)} recordings of {supports} combinations): {errors}{null}.")
    return Caption(
        "Answered and true shares, and how much of the support is found",
        "Mean answer over the windows of a recording; every point is one substance in one recording, grey where it was "
        "not there. Error is mean |â − a| over substances and recordings. The peer is the best of the stored table on "
        "these very recordings, a choice in its favour. Support found: with P components, the share of them among the "
        "P largest answers; "
        "bars are 95 % intervals by resampling combinations, dashes what a random order finds. " + " ".join(parts),
        "Few combinations are unseen, so that two more could turn the order of the models; seen recordings were made "
        "minutes from training ones, which a nearest neighbour can use as well.",
    )


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
    """The caption."""
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

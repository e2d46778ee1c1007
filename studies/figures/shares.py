"""Support and ratio recovery: answered against true shares, and how much of the support is found."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.caption import Caption
from studies.figures.stored import OURS, Table
from unmixnet import metrics
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = ["COLOURS", "MARKERS", "PEER", "chance_hit", "draw_shares", "hits_by_number", "label_of", "shares_caption"]

COLOURS = {OURS[0]: PALETTE[0], OURS[1]: PALETTE[2]}
PEER = PALETTE[5]
MARKERS = {OURS[0]: "o", OURS[1]: "s"}
_RESAMPLES = 300


def label_of(model: str) -> str:
    """A model's name in a figure."""
    known = {OURS[0]: "UnMixNet", OURS[1]: "UnMixNet, steady state"}
    return known.get(model, model.replace(" (whole recording)", ", whole"))


def hits_by_number(table: Table, model: str) -> dict[int, tuple[float, float, float, int]]:
    """Top-P hit of recordings with P components, its interval by resampling supports, and how many there are."""
    guess, truth = table.flat(model)
    held = np.sum(table.truth > 0, axis=1)
    seeds, found = len(guess) // len(held), {}
    for count in sorted(set(held.tolist())):
        mine = np.tile(held == count, seeds)
        names = [name for name, inside in zip(table.supports * seeds, mine, strict=True) if inside]
        value = metrics.top_k_hit(guess[mine], truth[mine])
        interval = metrics.bootstrap_interval(metrics.top_k_hit, guess[mine], truth[mine], names, resamples=_RESAMPLES)
        found[int(count)] = (value, interval.lo, interval.hi, int(np.sum(held == count)))
    return found


def chance_hit(count: int, K: int) -> float:
    """Expected top-P hit of a random order: P/K."""
    return count / K


def draw_shares(tables: Mapping[str, Table]) -> Figure:
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


def _scatter(ax: Axes, table: Table, model: str, name: str) -> None:
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


def _recovery(ax: Axes, table: Table) -> None:
    K = table.truth.shape[1]
    models = table.compared
    counts: Sequence[int] = []
    for k, model in enumerate(models):
        found = hits_by_number(table, model)
        counts = list(found)
        x = np.arange(len(counts)) + 0.16 * (k - (len(models) - 1) / 2)
        value, lo, hi, _ = np.array(list(found.values())).T
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


def shares_caption(tables: Mapping[str, Table]) -> Caption:
    """The words under it."""
    parts = []
    for name, table in tables.items():
        told = ", ".join(f"{label_of(model)} {table.error(model).mean():.3f}" for model in table.compared)
        null = f", the mean of training {table.error('mean').mean():.3f}" if "mean" in table.guesses else ""
        supports = len(set(table.supports))
        parts.append(f"{name} ({len(table.recordings)} recordings of {supports} combinations): {told}{null}.")
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

"""Which substances are answered in place of which, and whether their coherence predicts it."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from studies.figures.failures import confusion, mantel, overlap, popularity
from studies.figures.shares import label_of
from studies.figures.stored import AnswerTable, Caption, plain, rounded
from unmixnet.recordings.coherence import Coherence
from unmixnet.recordings.fingerprints import Fingerprints
from unmixnet.recordings.pieces import Piece
from unmixnet.simulation.plot_style import INK, MUTED, PALETTE, figure_style

__all__ = [
    "confusion_caption",
    "confusion_record",
    "draw_confusion",
    "fingerprint_record",
    "main_rows",
    "session_mates",
    "worst_pairs",
]

_BY, _WHAT = "whitened", "share"
_AXES = {"whitened": "whitened coherence", "distance": "distance of the fingerprints [noise]"}
_NAMES = {"whitened": "coherence", "nearness": "nearness"}


def _main(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table that is drawn: the first protocol and model."""
    return record["confusion"]["matrices"][0]


def main_rows(record: Mapping[str, Any], by: str = _BY, what: str = _WHAT) -> list[Mapping[str, Any]]:
    """The rank correlations with one table of pairs, where there are enough pairs."""
    rows = record["confusion"]["rows"]
    return [row for row in rows if (row["by"], row["what"]) == (by, what) and row["rho"] is not None]


def worst_pairs(record: Mapping[str, Any], count: int = 8) -> list[dict[str, Any]]:
    """The pairs with the largest confusion (mean of both directions), with what popularity explains and coherence."""
    names, matrix, prints = record["confusion"]["names"], _main(record), record["fingerprints"]
    order = [prints["components"].index(name) for name in names]
    C, beyond = (np.array(matrix[key], float) for key in ("C", "beyond"))
    white, away = (np.array(prints[key])[np.ix_(order, order)] for key in ("whitened", "distance"))
    i, j = np.triu_indices(len(names), 1)
    both = np.nanmean([C[i, j], C[j, i]], axis=0)
    rank = np.argsort(-np.nan_to_num(both))[:count]
    return [
        {
            "pair": f"{names[i[k]]} – {names[j[k]]}",
            "share": float(both[k]),
            "beyond": float(np.nanmean([beyond[i[k], j[k]], beyond[j[k], i[k]]])),
            "whitened": float(white[i[k], j[k]]),
            "distance": float(away[i[k], j[k]]),
        }
        for k in rank
    ]


def draw_confusion(record: Mapping[str, Any]) -> Figure:
    """The table of confusions, confusion against coherence, and every rank correlation beside its null."""
    with figure_style():
        fig, axes = plt.subplots(2, 2, figsize=(11, 9.6), layout="constrained", width_ratios=(1.15, 1))
        _table(fig, axes[0, 0], record)
        _against(axes[0, 1], record, "whitened", "whitened")
        _nulls(axes[1, 0], record)
        _against(axes[1, 1], record, "distance", "nearness")
    return fig


def _table(fig: Figure, ax: Axes, record: Mapping[str, Any]) -> None:
    names, C = record["confusion"]["names"], 100 * np.array(_main(record)["C"], float)
    drawn = ax.imshow(C, cmap="cividis", vmin=0)
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.grid(False)
    top = float(np.nanmax(C))
    for i, j in np.argwhere(np.isfinite(C)):
        ax.text(
            j, i, f"{C[i, j]:.0f}", ha="center", va="center", fontsize=7, color="white" if C[i, j] < 0.6 * top else INK
        )
    main = _main(record)
    ax.set_title(f"{main['protocol']}, {label_of(main['model'])}")
    ax.set(xlabel="answered, though it was not there", ylabel="there, and answered too small")
    fig.colorbar(drawn, ax=ax, shrink=0.82, pad=0.02, label="share moved [%]")


def _against(ax: Axes, record: Mapping[str, Any], key: str, by: str) -> None:
    """Confusion of every pair against one table of pairs."""
    pairs, main = worst_pairs(record, 10**6), _main(record)
    x, y = np.array([pair[key] for pair in pairs]), 100 * np.array([pair["share"] for pair in pairs])
    ax.plot(x, y, "o", color=PALETTE[0], ms=5.5, alpha=0.75, mew=0)
    middle, above = 0.5 * (x.min() + x.max()), False
    for k in range(min(3, len(pairs))):
        side, away = ("right", -6) if x[k] > middle else ("left", 6)
        above = not (above and y[k - 1] - y[k] < 0.06 * y[0])  # names of near points are not written over each other
        ax.annotate(
            pairs[k]["pair"],
            (x[k], y[k]),
            (away, 4 if above else -12),
            textcoords="offset points",
            fontsize=9,
            ha=side,
            color=INK,
        )
    row = next(
        row for row in main_rows(record, by) if (row["protocol"], row["model"]) == (main["protocol"], main["model"])
    )
    ax.set_title(f"Every pair by {_NAMES[by]}: ρ = {row['rho']:.2f}, p = {row['p']:.2g}")
    ax.set(xlabel=_AXES[key], ylabel="share moved, mean of both directions [%]")
    ax.margins(0.06, 0.1)


def _nulls(ax: Axes, record: Mapping[str, Any]) -> None:
    rows, labels = main_rows(record), []
    near = main_rows(record, by="nearness")
    for k, (row, other) in enumerate(zip(rows, near, strict=True)):
        ax.plot([row["lo"], row["hi"]], [k, k], color="#d9d9d9", lw=11, solid_capstyle="butt", zorder=1)
        ax.plot(row["rho"], k, "o", color=PALETTE[5], ms=7, zorder=3, label="_" if k else "by whitened coherence")
        ax.plot(other["rho"], k, "D", color=PALETTE[0], ms=5.5, zorder=2, label="_" if k else "by nearness in noise")
        labels.append(f"{row['protocol']}\n{label_of(row['model'])}")
    ax.axvline(0, color=MUTED, lw=0.8)
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
    ax.set(ylim=(len(rows) - 0.4, -1.2), xlabel="rank correlation (grey: 95 % of permuted names)")
    ax.set_title("Foretold by the fingerprints?")
    ax.legend(fontsize=8, loc="upper right", ncols=2)


def confusion_caption(record: Mapping[str, Any]) -> Caption:
    """The caption."""
    main, rows = _main(record), main_rows(record)
    coherent, signed, near, left = (
        [row for row in main_rows(record, by) if row["p"] < 0.05]
        for by in (_BY, "cosine", "nearness", "nearness, given same sessions")
    )
    first = next(row for row in rows if (row["protocol"], row["model"]) == (main["protocol"], main["model"]))
    worst = worst_pairs(record, 3)
    pairs = ", ".join(
        f"{pair['pair']} ({100 * pair['share']:.0f} %, coherence {pair['whitened']:.2f})" for pair in worst
    )
    return Caption(
        "Which pairs are confused, and does coherence foretell it?",
        "Above left: the share of a substance (row) that was answered as another that was not there (column), on "
        f"{first['recordings']} recordings of {main['protocol']} by {label_of(main['model'])}. Most confused: {pairs}. "
        "Right: both directions of every pair against the whitened coherence of their fingerprints, and against the "
        f"distance of the fingerprints in units of noise. Below left: rank correlations over at most {first['n']} "
        "pairs; grey is what permuted names give, since pairs that share a substance are not independent. "
        f"Of {len(rows)} protocols and models, p < 0.05 (one-sided, not corrected for their number) is reached by "
        f"{len(coherent)} with the coherence, by {len(signed)} with the same cosine before its sign is dropped, by "
        f"{len(near)} with the nearness, and by {len(left)} with the nearness beyond what being recorded in the same "
        "sessions explains.",
        "The coherence is that of the paper's theorem, the absolute value of a cosine: opposite fingerprints count as "
        "alike, which they are to a solver of any sign and not to shares that cannot be negative. Few pairs of few "
        "substances were recorded in the last two protocols; another array could show another order.",
    )


def fingerprint_record(prints: Fingerprints, result: Coherence) -> dict[str, Any]:
    """Coherences of all pairs, their distance in noise, and the first two directions of the whitened fingerprints."""
    W = prints.whitened
    unit = W / np.linalg.norm(W, axis=0)
    away = np.linalg.norm(W[:, :, None] - W[:, None, :], axis=0) / np.sqrt(len(W))
    _, size, V = np.linalg.svd(W, full_matrices=False)
    return {
        "components": list(prints.components),
        "channels": list(prints.channels),
        "recordings": list(prints.counts),
        "raw": rounded(result.raw),
        "whitened": rounded(result.whitened),
        "cosine": rounded(unit.T @ unit),
        "distance": rounded(away),
        "map": rounded((size[:2, None] * V[:2]).T / np.sqrt(len(W))),
        "variance": rounded(size**2 / np.sum(size**2)),
        "mu_raw": result.mu_raw,
        "mu_whitened": result.mu_whitened,
        "guaranteed": result.guaranteed,
    }


def session_mates(pieces: Sequence[Piece], names: Sequence[str]) -> np.ndarray:
    """How far two substances were recorded in the same sessions."""
    sessions = sorted({piece.session or "" for piece in pieces})
    counts = np.zeros((len(names), len(sessions)))
    for piece in pieces:
        for name in piece.label.support if piece.label else ():
            counts[names.index(name), sessions.index(piece.session or "")] += 1
    return overlap(counts)


def confusion_record(
    tables: dict[str, AnswerTable], names: Sequence[str], prints: dict[str, Any], mates: np.ndarray
) -> dict[str, Any]:
    """Confusions of ours and of the best peer, and how far each table of pairs predicts them.

    Arguments:
        mates: how far two substances were recorded in the same sessions, in the order of `names`.
    """
    order = [prints["components"].index(name) for name in names]
    pairs = {key: np.array(prints[key])[np.ix_(order, order)] for key in ("whitened", "raw", "cosine", "distance")}
    pairs["nearness"] = -pairs.pop("distance")
    pairs["same sessions"] = mates
    rows, matrices = [], []
    for name, table in tables.items():
        made = {model: confusion(*table.flat(model)) for model in table.compared}
        for model, C in made.items():
            beyond = C / np.maximum(popularity(C), 1e-12)
            guess, truth = table.flat(model)
            mixed = np.sum(truth > 0, axis=1) > 1
            kinds = {"share": C, "beyond popularity": beyond, "mixtures only": confusion(guess[mixed], truth[mixed])}
            matrices.append({"protocol": name, "model": model, "C": rounded(C), "beyond": rounded(beyond)})
            about = {"protocol": name, "model": model, "recordings": len(table.recordings)}
            for what, table_of_pairs in kinds.items():
                for by, P in pairs.items():
                    rows.append({**about, "by": by, "what": what, **plain(mantel(table_of_pairs, P))})
                left = mantel(table_of_pairs, pairs["nearness"], given=mates)
                rows.append({**about, "by": "nearness, given same sessions", "what": what, **plain(left)})
            if model != table.best_peer:
                correlation = plain(mantel(C, made[table.best_peer]))
                rows.append({**about, "by": "the best peer's confusions", "what": "share", **correlation})
    return {"names": list(names), "rows": rows, "matrices": matrices}
